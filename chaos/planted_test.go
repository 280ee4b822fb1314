package chaos_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnlog/chaos"
	"turnlog/chaos/verify"
)

// mutation replaces a text of one of the log's scripts.
type mutation struct{ script, old, with string }

// mutant builds the program with changed scripts. The product knows nothing of it: the
// compiler is given other files in place of the real ones.
func mutant(t *testing.T, name string, mutations []mutation) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "turnlog/eventlog").Output()
	if err != nil {
		t.Fatal(err)
	}
	lua, dir := filepath.Join(strings.TrimSpace(string(out)), "lua"), t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, m := range mutations {
		from := filepath.Join(lua, m.script)
		read := from
		if changed := overlay.Replace[from]; changed != "" {
			read = changed
		}
		source, err := os.ReadFile(read)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), m.old) {
			t.Fatalf("%s does not hold %q any more: plant the fault anew", m.script, m.old)
		}
		to := filepath.Join(dir, m.script)
		if err := os.WriteFile(to, []byte(strings.ReplaceAll(string(source), m.old, m.with)), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[from] = to
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := build(name, "-overlay", path)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// planted are faults that somebody might make, and a schedule that brings each out.
var planted = map[string]struct {
	mutations []mutation
	schedule  chaos.Schedule
	want      []verify.Kind
}{
	"append without its fence": {
		// A node sleeps longer than its lease; awake again it writes on, behind the turn's end.
		mutations: []mutation{{
			"lib_entries.lua",
			`if st[1] == ARGV[1] and st[2] == ARGV[2] and st[3] == ARGV[3] and st[4] == 'running' and not closing then return st end`,
			`if st[1] then return st end`,
		}},
		schedule: chaos.Schedule{
			Seed: 1, Length: 10 * time.Second, Lease: 2 * time.Second, Heartbeat: 500 * time.Millisecond, Grace: 30 * time.Second, OwnerLost: "fail",
			Viewers: []chaos.ViewerPlan{
				speaks("v0", "t0", 0, verify.Script{Frames: 400, Interval: 20}),
				speaks("v1", "t1", 0, verify.Script{Frames: 400, Interval: 20}),
			},
			Faults: []chaos.Fault{{At: 1500 * time.Millisecond, For: 6 * time.Second, Kind: chaos.Pause}},
		},
		want: []verify.Kind{verify.AfterTerminal, verify.SecondWriter, verify.DoubleTerminal},
	},
	"append that does not know its own retry": {
		// Replies are lost; what was written already is written again.
		mutations: []mutation{{"lib_append.lua", `if appended == expected + n then return seq end`, ``}, {"lib_append.lua", `return {'fenced', '', st[10]}`, ``}},
		schedule: chaos.Schedule{
			Seed: 2, Length: 6 * time.Second, Lease: 6 * time.Second, Heartbeat: 500 * time.Millisecond, Grace: 30 * time.Second, OwnerLost: "fail",
			Viewers: []chaos.ViewerPlan{
				speaks("v0", "t0", 0, verify.Script{Frames: 500, Interval: 8}),
				speaks("v1", "t1", 0, verify.Script{Frames: 500, Interval: 8}),
				speaks("v2", "t2", 0, verify.Script{Frames: 500, Interval: 8}),
			},
			Faults: []chaos.Fault{{At: time.Second, For: 3 * time.Second, Kind: chaos.DropReplies, Rate: 0.05}},
		},
		want: []verify.Kind{verify.WrongContent},
	},
	"reap that does not check again": {
		// A viewer leaves and is back long before the grace is over; the deadline that was set strikes nevertheless.
		mutations: []mutation{
			{"reap.lua", `past(st.grace_at) and redis.call('HLEN', K.viewers) > 0`, `false`},
			{"lib_viewers.lua", `redis.call('HDEL', K.state, 'detached_at', 'grace_at')`, `redis.call('HDEL', K.state, 'detached_at')`},
		},
		schedule: chaos.Schedule{
			Seed: 3, Length: 10 * time.Second, Lease: 6 * time.Second, Heartbeat: 500 * time.Millisecond, Grace: 4 * time.Second, OwnerLost: "fail",
			Viewers: []chaos.ViewerPlan{comesBack("v0", "t0", verify.Script{Frames: 500, Interval: 20})},
		},
		want: []verify.Kind{verify.DetachedWatched},
	},
}

// speaks is a viewer at a node that says one thing at once.
func speaks(name, thread string, node int, script verify.Script) chaos.ViewerPlan {
	return chaos.ViewerPlan{
		Name: name, User: "u", Thread: thread, Lives: []chaos.Life{{Node: node, Stay: time.Minute}},
		Acts: []chaos.Act{{At: 200 * time.Millisecond, Verb: chaos.Say, ID: name + "-1", Busy: "enqueue", Script: script}},
	}
}

func comesBack(name, thread string, script verify.Script) chaos.ViewerPlan {
	v := speaks(name, thread, 0, script)
	v.Lives = []chaos.Life{{Stay: 1500 * time.Millisecond, Away: time.Second}, {Node: 1, Stay: time.Minute}}
	return v
}

// TestAPlantedFaultIsFound builds the program with a fault and runs the schedule that brings it out; the
// product itself goes through the same schedules without a finding.
func TestAPlantedFaultIsFound(t *testing.T) {
	for name, row := range planted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := run(t, mutant(t, strings.ReplaceAll(name, " ", "-"), row.mutations), &row.schedule)
			summary(t, record)
			if !has(record.Findings, row.want...) {
				t.Errorf("want %v, found %v", row.want, record.Findings)
			}
			for _, f := range record.Findings[:min(len(record.Findings), 3)] {
				t.Logf("found: %s", f)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		program, err := product()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range planted {
			if record := run(t, program, &row.schedule); len(record.Findings) > 0 {
				t.Errorf("found without a planted fault: %v\n%s", record.Findings, &row.schedule)
			}
		}
	})
}
