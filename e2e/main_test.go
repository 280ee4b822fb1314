package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// builtDir holds the program; made in TestMain.
var builtDir string

// binary builds the program once per run.
var binary = sync.OnceValue(func() string {
	path := filepath.Join(builtDir, "turnlog")
	args := []string{"build", "-o", path}
	if raced {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "turnlog/cmd/turnlog")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		os.Exit(1)
	}
	return path
})

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == providerClient {
		os.Exit(askProvider(os.Args[2]))
	}
	if len(os.Args) > 5 && os.Args[1] == goNode {
		os.Exit(runGoNode(os.Args[2:]))
	}
	flag.Parse()
	// Most tests wait for something: more of them at once than there are processors.
	_ = flag.Set("test.parallel", "6")
	dir, err := os.MkdirTemp("", "turnlog-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	builtDir = dir
	if given := os.Getenv("E2E_TURNLOG_BINARY"); given != "" {
		binary = func() string { return given }
	}
	code := m.Run()
	if complaints := closeShared(); complaints != "" {
		fmt.Fprintln(os.Stderr, "nodes complained:\n"+complaints)
		code = 1
	}
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
