package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// jumps is put into time.Now of a second build of the program: its wall clock is
// right for a second, then a day ahead, then a day behind. libfaketime cannot do
// that to a Go program, which asks the kernel's vDSO and no library.
const jumps = `
	switch mono / 1_000_000_000 % 3 {
	case 1:
		sec += 86400
	case 2:
		sec -= 86400
	}
`

// jumpy builds that program, once per run. Only time.go differs, by an overlay.
var jumpy = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	code, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const ask = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	changed := strings.Replace(string(code), ask, ask+jumps, 1)
	if changed == string(code) {
		return "", os.ErrInvalid
	}
	path := filepath.Join(builtDir, "time.go")
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: path}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(builtDir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	program := filepath.Join(builtDir, "turnlog-jumpy")
	if out, err := exec.Command("go", "build", "-overlay", list, "-o", program, "turnlog/cmd/turnlog").CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return program, nil
})

func TestB86_ClockJumpsOnANodeChangeNothing(t *testing.T) {
	t.Parallel()
	program, err := jumpy()
	if err != nil {
		t.Fatalf("build a program whose clock jumps: %v", err)
	}
	const grace = 4 * time.Second
	flags := quick("--disconnect.grace", grace.String(), "--turn.max_duration", "12s", "--turn.tool_timeout", "5s")
	p := own(t, oneNode, flags...)
	p.nodes[0].signal(syscall.SIGTERM) // one whose clock jumps is to lead the reaper
	if code := p.nodes[0].exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.nodes = nil
	for _, program := range []string{program, program, binary()} {
		n, err := serveAs(program, append([]string{"--redis", p.redis.url()}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		p.nodes = append(p.nodes, n)
	}
	p.trusted(t)
	if p.leader(t) == p.nodes[2] {
		t.Fatal("the node whose clock is right leads the reaper")
	}
	user := someone()
	a, b := dial(t, p.url(1, user)), dial(t, p.url(2, user))

	// Every turn here runs on a node whose clock jumps.
	whole := a.say("whole", object{"frames": 700, "interval_ms": 10})
	long := a.say("long", object{"frames": 1_000_000, "interval_ms": 10})
	limited := time.Now()
	tool := a.say("tool", object{"frames": 3, "tool_call": object{"name": "none", "at": 2}})
	for _, thread := range []string{"whole", "long", "tool"} {
		b.resume(thread)
	}
	leaving := dial(t, p.url(1, user))
	left := leaving.say("left", object{"frames": 1_000_000, "interval_ms": 10})
	leaving.seq("left", 5)
	leaving.Cut()
	cut := time.Now()
	eventually(t, "the grace is over", func() bool { return p.state(t, user, "left")["status"] == "finished" })
	if took := time.Since(cut); took < grace-500*time.Millisecond {
		t.Errorf("a grace of %v took %v", grace, took)
	}
	within(t, "detached turn ended", cut, time.Now(), grace+notice)
	if s := p.state(t, user, "left"); s["outcome"] != "detached" || s["turn_id"] != left.Str("turn_id") {
		t.Errorf("the detached turn ended %s", s["outcome"])
	}
	for _, v := range []*viewer{a, b} {
		if end := v.end("tool", tool.Str("turn_id")); end.Str("outcome") != "completed" {
			t.Errorf("a tool call that times out: %s", end)
		}
		if end := v.end("whole", whole.Str("turn_id")); end.Str("outcome") != "completed" {
			t.Errorf("end %s", end)
		}
		saidOnce(t, v, "whole", "", wire.DemoText(700, 0))
	}
	end := b.end("long", long.Str("turn_id"))
	if took := end.At.Sub(limited); end.Str("outcome") != "timed_out" || took < 11*time.Second {
		t.Errorf("a turn of at most 12s ended %s after %v", end, took)
	}
	within(t, "timed out", limited, end.At, 12*time.Second+notice)
	for _, n := range p.nodes {
		if strings.Contains(n.stderr.String(), "declared dead") {
			t.Errorf("a jump cost a node its life:\n%s", n.stderr)
		}
	}
	// Deaths are noticed neither sooner nor later.
	lost := a.say("lost", object{"frames": 1_000_000, "interval_ms": 10})
	b.resume("lost")
	killed := time.Now()
	p.nodes[1].kill()
	end = b.end("lost", lost.Str("turn_id"))
	if end.Str("outcome") != "owner_lost" {
		t.Errorf("end %s", end)
	}
	within(t, "lost", killed, end.At, lease+notice)
}

func TestTheJumpyClockJumps(t *testing.T) {
	t.Parallel()
	program, err := jumpy()
	if err != nil {
		t.Fatal(err)
	}
	n, err := serveAs(program)
	if err != nil {
		t.Fatal(err)
	}
	defer n.kill()
	// The ages of welcome frames' server_time show what the node believes.
	seen := map[int]bool{}
	eventually(t, "yesterday, today and tomorrow", func() bool {
		v := dial(t, n.url(someone(), ""))
		_, m, err := v.Await(0, wire.Patience, func(m wire.Message) bool { return m.Type == "welcome" })
		if err != nil {
			t.Fatal(err)
		}
		v.Cut()
		at, err := time.Parse(time.RFC3339Nano, m.Str("server_time"))
		if err != nil {
			t.Fatal(err)
		}
		seen[int(time.Until(at).Round(24*time.Hour).Hours()/24)] = true
		return seen[-1] && seen[0] && seen[1]
	})
}
