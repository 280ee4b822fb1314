package bench_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnlog/bench"
)

// B30: what waits unwatched costs next to nothing per turn.
func TestB30_DetachedTurnsAreMeasuredAgainstNone(t *testing.T) {
	program := filepath.Join(t.TempDir(), "turnlog")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/turnlog").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const turns = 200
	result, err := bench.Run(t.Context(), bench.Options{Workload: bench.Detached, Program: program, Threads: turns, Duration: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Steps) != 2 || result.Steps[0]["turns"] != 0 || result.Steps[1]["turns"] != turns {
		t.Fatalf("steps %+v", result.Steps)
	}
	for _, step := range result.Steps {
		if step["redis_commands_per_s"] <= 0 || step["node_resident_mib"] <= 0 {
			t.Errorf("nothing was measured: %+v", step)
		}
	}
	// One command per turn and second would be 60 and more. The reaper's sweep, which may or may
	// fall into so short a time, looks at each turn inside few scripts: 33 at most.
	if per := result.Figures["redis_commands_per_turn_and_minute"]; per > 50 {
		t.Errorf("%.1f Redis commands per detached turn and minute", per)
	}
	if per := result.Figures["script_calls_per_turn_and_minute"]; per > 20 {
		t.Errorf("%.1f script calls per detached turn and minute", per)
	}
	var table bytes.Buffer
	result.Table(&table)
	if !strings.Contains(table.String(), "redis_commands_per_s") {
		t.Error(table.String())
	}
}
