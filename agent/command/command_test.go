package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/command"
	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newAgent(t *testing.T, o command.Options) *command.Agent {
	t.Helper()
	a, err := command.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sh is an agent that runs a shell script.
func sh(t *testing.T, script string) *command.Agent {
	t.Helper()
	return newAgent(t, command.Options{Command: []string{"sh", "-c", script}, Stdin: command.StdinText})
}

// python is an agent that runs a Python program on JSON lines: "start" is the
// start line, say(x) prints a line, read() reads one.
func python(t *testing.T, program string) *command.Agent {
	t.Helper()
	return newAgent(t, command.Options{Command: []string{"python3", "-c", `
import json, os, signal, sys, time
def say(x):
    print(json.dumps(x) if not isinstance(x, str) else x, flush=True)
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
start = read()
` + program}})
}

func turn() *agenttest.Turn {
	return agenttest.New(agent.Info{
		Message: json.RawMessage(`{"role":"user","content":"hello wörld"}`),
		Data:    json.RawMessage(`{"thread_id":"t","content":"hello wörld","model":"m"}`),
	})
}

func types(frames []json.RawMessage) string {
	var out []string
	for _, f := range frames {
		typ, _ := frame.Type(f)
		out = append(out, typ)
	}
	return strings.Join(out, " ")
}

func TestOrdinaryProgramsJustWork(t *testing.T) {
	for name, tc := range map[string]struct {
		script, text, types string
	}{
		"echo":               {`echo hi`, "hi\n", "chunk message"},
		"no newline":         {`printf hi`, "hi", "chunk message"},
		"filter":             {`tr a-z A-Z`, "HELLO WöRLD\n", "chunk message"},
		"cat":                {`cat`, "hello wörld\n", "chunk message"},
		"lines":              {`printf 'a\n\nb\nc'`, "a\n\nb\nc", "chunk chunk chunk chunk message"},
		"nothing":            {`true`, "", ""},
		"ignores its input":  {`exec <&-; echo x`, "x\n", "chunk message"},
		"invalid UTF-8":      {`printf 'a\377b\303'`, "a\ufffdb\ufffd", "chunk message"},
		"control characters": {`printf '\033[1mx\000y\n'`, "\x1b[1mx\x00y\n", "chunk message"},
		"JSON without type":  {`echo '{"a":1}'`, "{\"a\":1}\n", "chunk message"},
		"a frame and text":   {`echo '{"type":"log_update","l":[]}'; echo x`, "x\n", "log_update chunk message"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := turn()
			if err := sh(t, tc.script).Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if turn.Text() != tc.text || turn.Message() != tc.text || types(turn.Frames()) != tc.types {
				t.Fatalf("said %q, message %q: %s", turn.Text(), turn.Message(), turn.Frames())
			}
		})
	}
}

func TestB105_TextCutAtEveryByteArrivesByteEqual(t *testing.T) {
	const text = "aé世😀\n\u00a0z"
	for i := range len(text) + 1 {
		turn := turn()
		a := newAgent(t, command.Options{Command: []string{"python3", "-c", fmt.Sprintf(`
import os, sys, time
sys.stdin.readline()
b = %s.encode()
os.write(1, b[:%d]); time.sleep(0.06); os.write(1, b[%d:])`, strconv.QuoteToASCII(text), i, i)}})
		if err := a.Run(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if turn.Text() != text || turn.Message() != text {
			t.Fatalf("cut at %d: %q", i, turn.Text())
		}
	}
}

func TestTokensWithoutNewlineAreStreamed(t *testing.T) {
	turn := turn()
	fifo := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		done <- sh(t, `printf 'one '; read x < `+fifo+`; printf '{"type":"x"}\n'`).Run(t.Context(), turn)
	}()
	turn.Await(t, "the first token", func() bool { return turn.Text() == "one " })
	if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || turn.Text() != "one {\"type\":\"x\"}\n" {
		t.Fatalf("%q, %v", turn.Text(), err)
	}
}

func TestJSONProgramsReadTheStartLineAndSpeakFrames(t *testing.T) {
	in := turn()
	in.Rows = []json.RawMessage{[]byte(`{"role":"user","content":"before"}`)}
	err := python(t, `
say({"type":"echo", "got": start})
say({"type":"env", "got": sorted(k for k in os.environ if k.startswith("TURNLOG_")), "turn": os.environ["TURNLOG_TURN_ID"], "attempt": os.environ["TURNLOG_ATTEMPT"]})
say({"type":"chunk","content":"think","thinking":True})
say({"type":"chunk","content":"a"}); say("b"); say({"type":"chunk","content":"c","chat_seq":9})
`).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	frames := in.Frames()
	want := `{"type": "echo", "got": {"type": "start", "protocol": 1, "thread_id": "thread", "turn_id": "turn", "attempt": 1, "user": "alice", ` +
		`"message": {"role": "user", "content": "hello w\u00f6rld"}, "history": [{"role": "user", "content": "before"}], ` +
		`"data": {"thread_id": "t", "content": "hello w\u00f6rld", "model": "m"}}}`
	if string(frames[0]) != want {
		t.Errorf("start line %s", frames[0])
	}
	if want := `{"type": "env", "got": ["TURNLOG_ATTEMPT", "TURNLOG_PROTOCOL", "TURNLOG_THREAD_ID", "TURNLOG_TURN_ID", "TURNLOG_USER"], "turn": "turn", "attempt": "1"}`; string(frames[1]) != want {
		t.Errorf("environment %s", frames[1])
	}
	if in.Message() != "ab\nc" || types(frames) != "echo env chunk chunk chunk chunk message" {
		t.Errorf("message %q, frames %s", in.Message(), frames)
	}
}

func TestOwnMessageIsNotDoubled(t *testing.T) {
	turn := turn()
	if err := python(t, `say({"type":"chunk","content":"a"}); say({"type":"message","role":"assistant","content":"mine"})`).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if types(turn.Frames()) != "chunk message" || turn.Message() != "mine" {
		t.Fatalf("%s", turn.Frames())
	}
}

func TestRequestsAreAnsweredByRef(t *testing.T) {
	in := turn()
	in.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
		if ask.Kind == agent.KindSecret {
			return nil, agent.ErrExpired
		}
		return json.RawMessage(`{"ok":true,"result":"` + ask.Name + `"}`), nil
	}
	err := python(t, `
say({"type":"tool_call","ref":[1],"name":"f","args":{"x":[]}})
say({"type":"chunk","content":"meanwhile "})
say({"type":"tool_approval_request","approval_id":"own","tool_name":"g"})
say({"type":"secret_request","ref":"s","key":"K"})
got = sorted((json.dumps(read(), sort_keys=True) for _ in range(3)))
say({"type":"got","got":got})
`).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, f := range in.Frames() {
		if typ, _ := frame.Type(f); typ == "got" {
			got = string(f)
		}
	}
	for _, want := range []string{
		`\"answer\": {\"ok\": true, \"result\": \"f\"}, \"kind\": \"tool_call\", \"ref\": [1], \"request_id\"`,
		`\"result\": \"g\"}, \"kind\": \"tool_approval\", \"ref\": \"own\"`,
		`\"error\": \"expired\", \"kind\": \"secret\", \"ref\": \"s\", \"request_id\"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	asks := in.Asks()
	fields, _ := json.Marshal(asks[0].Fields)
	if len(asks) != 3 || string(fields) != `{"args":{"x":[]},"name":"f"}` {
		t.Errorf("asked %+v, fields %s", asks, fields)
	}
}

func TestB47_InputsReachTheProgram(t *testing.T) {
	turn := turn()
	done := make(chan error, 1)
	go func() {
		done <- python(t, `
say({"type":"chunk","content":"ready "})
for _ in range(2): say({"type":"got","line":read()})
`).Run(t.Context(), turn)
	}()
	turn.Await(t, "the program", func() bool { return turn.Count() > 0 })
	for _, in := range []agent.Input{
		{Kind: agent.InputSteer, Message: json.RawMessage(`{"role":"user","content":"faster"}`)},
		{Kind: agent.InputPermissionMode, Mode: "auto"},
	} {
		if !turn.Send(t.Context(), in) {
			t.Fatal("not taken")
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s", turn.Frames()[1:4])
	if want := `[{"type":"message","role":"user","content":"faster","steer":true} {"type": "got", "line": {"type": "input", "kind": "steer", "message": {"role": "user", "content": "faster"}}} ` +
		`{"type": "got", "line": {"type": "input", "kind": "permission_mode", "mode": "auto"}}]`; got != want {
		t.Fatalf("got %s", got)
	}
}

func TestB90_CheckpointsComeBack(t *testing.T) {
	first := turn()
	a := python(t, `
say({"type":"checkpoint","state":{"n": start.get("checkpoint", {"n":0})["n"] + 1}})
say({"type":"got","attempt":start["attempt"],"emitted":start.get("emitted")})
`)
	if err := a.Run(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if string(first.State()) != `{"n": 1}` {
		t.Fatalf("state %s", first.State())
	}
	second := agenttest.New(agent.Info{Attempt: 2, Checkpoint: first.State(), Emitted: first.Frames()})
	if err := a.Run(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if string(second.State()) != `{"n": 2}` || string(second.Frames()[0]) != `{"type": "got", "attempt": 2, "emitted": [{"type": "got", "attempt": 1, "emitted": null}]}` {
		t.Fatalf("state %s, frames %s", second.State(), second.Frames())
	}
}

func TestOptionsAreCheckedAtTheStart(t *testing.T) {
	for name, tc := range map[string]struct {
		options command.Options
		want    string
	}{
		"no program":  {command.Options{}, "needs a program"},
		"not found":   {command.Options{Command: []string{"no-such-program-anywhere"}}, `"no-such-program-anywhere": executable file not found`},
		"not a mode":  {command.Options{Command: []string{"cat"}, Stdin: "xml"}, `"json" or "text", not "xml"`},
		"negative":    {command.Options{Command: []string{"cat"}, StopTimeout: -1}, "stop timeout"},
		"no such dir": {command.Options{Command: []string{"cat"}, Dir: filepath.Join(t.TempDir(), "gone")}, "working directory cannot be used"},
		"a file":      {command.Options{Command: []string{"cat"}, Dir: "/dev/null"}, "/dev/null is no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := command.New(tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatal(err)
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "there")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	gone := newAgent(t, command.Options{Command: []string{"cat"}, Dir: dir})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := gone.Run(t.Context(), turn()); err == nil || !strings.Contains(err.Error(), "start the agent's program") {
		t.Fatal(err)
	}
}

func TestTheProgramSeesNoneOfTheNodesSettings(t *testing.T) {
	env := command.Environment([]string{"PATH=/bin", "TURNLOG_REDIS_URL=redis://:secret@x", "turnlog_x=1"}, []string{"A=b"}, agent.Info{User: "u\x00v", Attempt: 3})
	all := strings.Join(env, " ")
	if strings.Contains(all, "secret") || strings.Contains(all, "turnlog_x") || !strings.Contains(all, "PATH=/bin A=b") || !strings.Contains(all, "TURNLOG_USER=uv") || !strings.Contains(all, "TURNLOG_ATTEMPT=3") {
		t.Fatal(all)
	}
}

func TestStderrGoesToTheLogInBounds(t *testing.T) {
	var out strings.Builder
	l := command.NewStderr(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for range 10_000 {
		fmt.Fprintf(l, "%s\n", strings.Repeat("é", 5000))
	}
	fmt.Fprint(l, "last words\xff")
	tail := l.End()
	if len(tail) > 4100 || !strings.HasSuffix(tail, "last words\ufffd") {
		t.Fatalf("tail of %d bytes: %q", len(tail), tail[max(0, len(tail)-20):])
	}
	if n := strings.Count(out.String(), "agent stderr\""); n < 100 || n > 2000 || !strings.Contains(out.String(), "lines=10001 ") || strings.Contains(out.String(), "skipped=0") {
		t.Fatalf("%d lines logged", n)
	}
	if out.Len() > 2000*2300 {
		t.Fatalf("%d bytes logged", out.Len())
	}
}

func TestWhatAProgramSaysOnStderrIsForDebugging(t *testing.T) {
	var out strings.Builder
	a := newAgent(t, command.Options{
		Command: []string{"sh", "-c", "echo private >&2; exit 3"}, Stdin: command.StdinText,
		Logger: slog.New(slog.NewTextHandler(&out, nil)),
	})
	if err := a.Run(t.Context(), turn()); err == nil || err.Error() != "exit status 3: private" {
		t.Fatal(err)
	}
	if got := out.String(); strings.Contains(got, "private") || !strings.Contains(got, "lines=1 bytes=8 skipped=0") {
		t.Fatalf("logged %s", got)
	}
}

// alive says whether a process still runs (a zombie does not).
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !os.IsNotExist(err)
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func awaitGone(t *testing.T, pids string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, word := range strings.Fields(pids) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		for alive(pid) {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("process %d still runs", pid)
			}
		}
	}
}
