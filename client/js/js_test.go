package js_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"turnlog/client/js"
	"turnlog/internal/netproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// blockSockets lets no WebSocket through.
func blockSockets(p netproxy.Piece) netproxy.Verdict {
	if p.Dir == netproxy.ToServer && bytes.Contains(bytes.ToLower(p.Data), []byte("upgrade: websocket")) {
		return netproxy.Cut
	}
	return netproxy.Pass
}

// TestModules runs the tests that need no server.
func TestModules(t *testing.T) {
	t.Parallel()
	nodeTest(t, nil, "test/*.test.js")
}

// TestAgainstTheServer runs the tests that talk to the real program.
func TestAgainstTheServer(t *testing.T) {
	program := build(t)
	for _, place := range []struct {
		name  string
		real  bool
		files []string
	}{
		{"embedded", false, []string{"test/server/*.test.js"}},
		{"redis", true, []string{"test/server/*.test.js", "test/fleet/*.test.js"}},
	} {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, program, place.real)
			nodeTest(t, []string{"TURNLOG_CONTROL=" + w.control()}, place.files...)
		})
	}
}

// TestTypesAreGenerated: types/ is what tsc makes of the modules (make generate).
func TestTypesAreGenerated(t *testing.T) {
	t.Parallel()
	needModules(t)
	out := t.TempDir()
	cmd := exec.Command("node", "node_modules/typescript/bin/tsc", "-p", "tsconfig.json", "--outDir", out)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, b)
	}
	want, have := read(t, out), read(t, "types")
	for name, text := range want {
		if have[name] != text {
			t.Errorf("types/%s is out of date: run make generate", name)
		}
		delete(have, name)
	}
	for name := range have {
		t.Errorf("types/%s belongs to no module: remove it", name)
	}
}

// TestModulesAreEmbedded: what a node serves is complete, and there is nothing
// in it that a strict content security policy forbids.
func TestModulesAreEmbedded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.js")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d modules, %v", len(files), err)
	}
	for _, name := range files {
		b, err := js.Modules.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{"eval(", "new Function", "document.write", "innerHTML", "http://"} {
			if bytes.Contains(b, []byte(no)) {
				t.Errorf("%s has %q", name, no)
			}
		}
	}
}

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "turnlog")
	if out, err := exec.Command("go", "build", "-o", program, "turnlog/cmd/turnlog").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	return program
}

func needModules(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("node_modules/ws"); err != nil {
		t.Fatal("the tests' modules are not installed: run `make deps` (needs node and npm), or `npm ci` in client/js")
	}
}

// nodeTest runs files of tests and fails with what failed.
func nodeTest(t *testing.T, env []string, globs ...string) {
	t.Helper()
	needModules(t)
	args := []string{"--test", "--test-reporter", "spec"}
	for _, glob := range globs {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", glob, err)
		}
		args = append(args, files...)
	}
	cmd := exec.Command("node", args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		if at := strings.Index(text, "failing tests:"); at >= 0 {
			text = text[at:]
		}
		t.Fatalf("node --test: %v\n%s", err, text)
	}
	if !strings.Contains(text, "fail 0") || strings.Contains(text, "tests 0") || !strings.Contains(text, "skipped 0") {
		t.Fatalf("tests did not run:\n%s", text)
	}
	if testing.Verbose() {
		t.Log("\n" + text)
	}
}

// read reads the files of a directory.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}
