package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// builtDir holds the programs; made in TestMain.
var builtDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "turnlog-chaos-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	builtDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// product is the program as it is, built once per run; CHAOS_TURNLOG_BINARY names a ready one.
var product = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("CHAOS_TURNLOG_BINARY"); path != "" {
		return path, nil
	}
	return build("turnlog")
})

// build builds the program with further flags of go build.
func build(name string, flags ...string) (string, error) {
	path := filepath.Join(builtDir, name)
	args := append([]string{"build", "-o", path}, flags...)
	if raced {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "turnlog/cmd/turnlog")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}
