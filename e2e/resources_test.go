package e2e_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// memory is the resident set of a node in bytes.
func memory(t testing.TB, n *node) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no VmRSS of process %d", n.Pid())
	return 0
}
