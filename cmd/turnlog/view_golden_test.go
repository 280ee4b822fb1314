package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"turnlog/cmd/turnlog/doctor"
	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
	"turnlog/httpapi/admin"
)

// golden compares with testdata/cli/NAME.txt, or rewrites it (-update).
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "cli", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run make generate and read what it wrote", err)
	}
	if got != string(want) {
		t.Errorf("%s is another one; if it is better, run make generate:\n%s", path, got)
	}
}

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }
func at(d time.Duration) *time.Time    { t := noon.Add(d); return &t }

const turnA, turnB = "0197a3c2-5f10-7a41-9c55-1c2e0b7f3a10", "0197a3c2-6b32-7e08-8d11-90aa4c1de5f2"

// views are all that is shown to people, of made-up facts.
func views() map[string]func(*term.Screen) error {
	return map[string]func(*term.Screen) error{
		"turns": turnsReport{Now: noon, Turns: []listedTurn{
			{User: "ann", ThreadID: "quarterly-report-2030-q2", TurnID: turnA, Owner: "n-2c771a9842502a54", Attempt: 1, Policy: "preserve", LastSeq: 812, LastFrameAt: before(41*time.Minute + 7*time.Second), DetachedAt: at(-26*time.Hour - 3*time.Minute)},
			{User: "bob", ThreadID: "shopping list", TurnID: turnB, Owner: "", Attempt: 2, Policy: "grace", LastSeq: 12, LastFrameAt: before(2100 * time.Millisecond), DetachedAt: at(-192 * time.Second), GraceDeadline: at(408 * time.Second)},
		}}.table,
		"nodes": nodesReport{Now: noon, Reaper: &listedReaper{Node: "n-2c771a9842502a54", Term: 3, LeaseUntil: *at(4100 * time.Millisecond)}, Nodes: []listedNode{
			{Node: "n-2c771a9842502a54", State: "alive", Address: "10.0.0.1:8080", Version: "turnlog v0.3.0", StartedAt: at(-185 * time.Minute), LeaseUntil: at(8400 * time.Millisecond), Turns: 812, Viewing: 640},
			{Node: "n-77d0b1c2aa90e6f1", State: "late", Address: "10.0.0.3:8080", Version: "turnlog v0.3.0", StartedAt: at(-3 * time.Minute), LeaseUntil: at(-700 * time.Millisecond), Turns: 3, Viewing: 3},
			{Node: "n-9f1b6d1e0c3a4f77", State: "buried", DeadSince: at(-41 * time.Minute)},
		}}.table,
		"threads": threadListing{Now: noon, User: "ann", More: true, Threads: []admin.ListedThread{
			{ThreadID: "quarterly-report-2030-q2", Title: "Quarterly report: first draft, then numbers", Kind: "research", Status: "running", TurnID: turnA, LastSeq: 812, LastActivity: before(26 * time.Hour)},
			{ThreadID: "日本語の会話", Title: "こんにちは", Status: "finished", Outcome: "completed", TurnID: turnB, LastSeq: 41, LastActivity: before(3 * time.Minute)},
			{ThreadID: "shopping list", Status: "finished", Outcome: "owner_lost", TurnID: turnB, LastSeq: 7, LastActivity: before(4 * time.Minute)},
			{ThreadID: "old", Title: "evil\x1b[31m\ntitle", Status: "unknown", LastSeq: 9, LastActivity: before(200 * time.Hour)},
		}}.write,
		"inspect": inspection{Thread: admin.NewThread(eventlog.Inspection{
			Thread: eventlog.Thread{User: "ann", ID: "quarterly-report-2030-q2"}, Now: noon, Exists: true, Created: before(30 * time.Hour), Status: eventlog.StatusRunning,
			Meta: eventlog.ThreadMeta{Title: "Quarterly report: first draft, then numbers", Kind: "research", KindPolicy: eventlog.PolicyPreserve},
			Turn: eventlog.InspectedTurn{TurnID: turnA, Ordinal: 4, Attempt: 1, Owner: "n-2c771a9842502a54", Policy: eventlog.PolicyGrace, FirstSeq: 771, LastFrame: before(2 * time.Second),
				Detached: before(192 * time.Second), GraceDeadline: *at(408 * time.Second), StallAfter: 5 * time.Minute},
			Log: eventlog.InspectedLog{Epoch: "8ddb4763d5a94953", FirstSeq: 101, LastSeq: 812, Frames: 712, Bytes: 54321, LastType: "tool_call", Messages: 9, Queued: 2},
			Requests: []eventlog.InspectedRequest{
				{ID: "req_b7b030d23dcf1175e0e83c08", Kind: "tool_approval", Name: "shell", Seq: 790},
				{ID: "req_0c11ab73920d4e5f66778899", Kind: "tool_call", Name: "weather", Seq: 812, Left: 250 * time.Second, Target: "c-81"},
			},
			Viewers: []eventlog.ViewingNode{{Node: "n-2c771a9842502a54", Generation: 7}},
			Keys: []eventlog.InspectedKey{
				{KeyInfo: eventlog.KeyInfo{Name: "turnlog:{28}:ann/quarterly-report-2030-q2:state", Type: "hash", Key: "T:state"}, Exists: true, Bytes: 1730, Entries: 28},
				{KeyInfo: eventlog.KeyInfo{Name: "turnlog:{28}:ann/quarterly-report-2030-q2:log", Type: "stream", Key: "T:log"}, Exists: true, Bytes: 83_886, Entries: 712},
				{KeyInfo: eventlog.KeyInfo{Name: "turnlog:{28}:ann/quarterly-report-2030-q2:inputs", Type: "stream", Key: "T:inputs"}},
				{KeyInfo: eventlog.KeyInfo{Name: "turnlog:{28}:ann:threads", Type: "zset", Key: "U:threads"}, Exists: true, TTL: 719 * time.Hour, Bytes: 320, Entries: 4},
			},
		}), cli: "redis-cli -u 'redis://10.0.0.9'"}.write,
		"doctor": func(s *term.Screen) error {
			return diagnosis{Redis: "redis://10.0.0.9", Checks: []doctor.Check{
				{Name: "version", Status: doctor.OK, Found: "Redis 7.2.4", Means: "why"},
				{Name: "persistence", Status: doctor.Fail, Found: "none", Means: "what Redis has not on disk is lost when it restarts: running turns, logs, messages", Do: "CONFIG SET appendonly yes, and CONFIG REWRITE so that it stays."},
				{Name: "memory", Status: doctor.Warn, Found: "1.2 GiB used, no limit", Means: "one without a limit grows until the system kills it", Do: "CONFIG SET maxmemory."},
			}}.write(s, false)
		},
		"tail": func(s *term.Screen) error {
			v := tailView{out: s, status: s}
			for i, f := range []struct{ kind, frame string }{
				{"turn_started", `{"type":"turn_started","attempt":1,"on_disconnect":"grace","message":{"role":"user","content":"what is the weather like?\nand tomorrow?"}}`},
				{"chunk", `{"type":"chunk","content":"They ask for the weather","thinking":true}`},
				{"tool_call", `{"type":"tool_call","tool_call_id":"req_1","name":"weather","args":{"city":"Oslo"}}`},
				{"request_closed", `{"type":"request_closed","request_id":"req_1","reason":"answered"}`},
				{"tool_approval_request", `{"type":"tool_approval_request","approval_id":"req_2","tool_name":"shell","args":{"command":"rm -rf build"}}`},
				{"chunk", `{"type":"chunk","content":"It is 日本語 \u001b[31mred"}`},
				{"error", `{"type":"error","message":"the model is overloaded"}`},
				{"weather_card", `{"type":"weather_card","city":"Oslo","degrees":-3}`},
				{"message", `{"type":"message","role":"assistant","partial":true,"content":"It is cold in Oslo, and it will be colder still tomorrow; take a coat, a hat, gloves, and somebody to talk to on the way."}`},
				{"generation_stopped", `{"type":"generation_stopped","message":"Stopped by the user","job_id":null}`},
				{"chunk", `{"type":"chunk","content":"","done":true}`},
				{"turn_finished", `{"type":"turn_finished","outcome":"stopped"}`},
			} {
				if err := v.frame("k3Jq", admin.Frame{ChatSeq: int64(i + 41), TurnID: turnA, Ordinal: 4, Type: f.kind, Bytes: len(f.frame), Frame: json.RawMessage(f.frame)}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

var escape = regexp.MustCompile("\x1b\\[[0-9]*m")

// TestViews shows everything at several widths. The files are there to be read.
func TestViews(t *testing.T) {
	for name, view := range views() {
		for _, variant := range []struct {
			name   string
			width  int
			colour bool
		}{{"60", 60, false}, {"120", 120, false}, {"120-colour", 120, true}, {"pipe", 0, false}} {
			var out bytes.Buffer
			if err := view(term.Fixed(&out, variant.width, variant.colour)); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"-"+variant.name, out.String())
			for line := range strings.Lines(out.String()) {
				bare := escape.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
				copied := strings.HasPrefix(bare, "redis-cli") // whole, to be copied
				if w := term.Width(bare); variant.width > 0 && w > variant.width && !copied {
					t.Errorf("%s at %s: %d columns: %s", name, variant.name, w, bare)
				}
				if strings.ContainsAny(bare, "\x1b\r") || bare != strings.TrimRight(bare, " ") {
					t.Errorf("%s at %s: not clean: %q", name, variant.name, bare)
				}
				if variant.width == 0 && strings.Contains(bare, "…") {
					t.Errorf("%s in a pipe is cut: %s", name, bare)
				}
			}
		}
	}
}
