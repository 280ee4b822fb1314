package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/command"
)

// stop runs a, waits for so many frames, ends the turn and returns the turn and
// how long the agent then took.
func stop(t *testing.T, a *command.Agent, frames int) (*agenttest.Turn, time.Duration) {
	t.Helper()
	turn := turn()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, turn) }()
	turn.Await(t, "the program's output", func() bool { return turn.Count() >= frames })
	began := time.Now()
	cancel(&agent.Ended{Outcome: "stopped"})
	var ended *agent.Ended
	if err := <-done; !errors.As(err, &ended) || ended.Outcome != "stopped" {
		t.Fatalf("returned %v", err)
	}
	return turn, time.Since(began)
}

func TestB50_ATurnThatEndsTakesItsProcessGroupWithIt(t *testing.T) {
	for name, tc := range map[string]struct {
		script      string
		least, most time.Duration
	}{
		"obedient":          {`sleep 60 & echo $$ $!; wait`, 0, time.Second},
		"deaf to SIGTERM":   {`trap '' TERM; sleep 60 & echo $$ $!; while :; do wait; done`, 1500 * time.Millisecond, 2 * time.Second},
		"leader ends":       {`(trap '' TERM; sleep 60) & echo $$ $!; wait`, 0, time.Second},
		"floods on":         {`trap '' TERM; echo $$; while :; do echo more; done`, 1500 * time.Millisecond, 2 * time.Second},
		"never reads":       {`exec 0<&-; echo $$; exec sleep 60`, 0, time.Second},
		"escapes its group": {`setsid sleep 3 & echo $$; wait`, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, command.Options{Command: []string{"sh", "-c", tc.script}, Stdin: command.StdinText, StopTimeout: 2 * time.Second})
			turn, took := stop(t, a, 1)
			if took < tc.least || took > tc.most {
				t.Errorf("took %s", took)
			}
			pids, _, _ := strings.Cut(turn.Text(), "\n")
			awaitGone(t, pids)
		})
	}
}

func TestB50_AProgramThatReadsIsToldFirst(t *testing.T) {
	dir := t.TempDir()
	_, took := stop(t, python(t, `
say({"type":"chunk","content":"ready"})
line = read()
with open("`+dir+`/got", "w") as f: f.write(line["type"] + " " + line["outcome"] + " " + str(read()))
`), 1)
	if got := readFile(t, dir+"/got"); got != "stop stopped None" {
		t.Fatalf("the program read %q", got)
	}
	if took > time.Second {
		t.Fatalf("took %s", took)
	}
}

func TestB50_AProgramThatDoesNotReadCannotDelayItsEnd(t *testing.T) {
	a := newAgent(t, command.Options{Command: []string{"sh", "-c", `echo '{"type":"x"}'; exec sleep 60`}, StopTimeout: 4 * time.Second})
	if _, took := stop(t, a, 1); took > 2*time.Second {
		t.Fatalf("took %s", took)
	}
}

func TestB45_FailuresNameTheirReason(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"exit status":          {`echo oops >&2; exit 3`, "exit status 3: oops"},
		"silent":               {`exit 7`, "exit status 7"},
		"signal":               {`kill -9 $$`, "signal: killed"},
		"frame with no type":   {`echo '{"type":""}'`, `whose "type" is ""`},
		"number as type":       {`echo '{"type":1}'`, `whose "type" is 1;`},
		"no type at all":       {`echo '{"type":null}'`, `whose "type" is null;`},
		"object as type":       {`echo '{"a":1,"type":{"b":[]}}'`, `whose "type" is {"b":[]};`},
		"long type":            {`printf '{"type":"'; head -c 129 /dev/zero | tr '\0' a; echo '"}'`, "has 129 bytes"},
		"nests too deep":       {deep(127, `"type":"x",`, ``), "deeper than 128 levels"},
		"too deep, type last":  {deep(200, ``, `,"type":"x"`), "deeper than 128 levels"},
		"deeper than any JSON": {deep(20000, `"type":"x",`, ``), "deeper than 128 levels"},
		"oversized frame":      {`printf '{"type":"x","c":"'; head -c 3000000 /dev/zero | tr '\0' a; echo '"}'`, agent.ErrFrameTooLarge.Error()},
		"just oversized frame": {`printf '{"type":"x","c":"'; head -c 1048570 /dev/zero | tr '\0' a; echo '"}'`, agent.ErrFrameTooLarge.Error()},
		"reserved type":        {`echo '{"type":"turn_finished"}'`, "only the runtime"},
		"repeats its input":    {`echo '{"type":"start"}'`, `stdin "text"`},
		"nameless tool call":   {`echo '{"type":"tool_call"}'`, `without "name"`},
		"empty checkpoint":     {`echo '{"type":"checkpoint"}'`, `without "state"`},
		"huge checkpoint":      {`printf '{"type":"checkpoint","state":"'; head -c 70000 /dev/zero | tr '\0' a; echo '"}'`, "checkpoint too large"},
		"bad, and goes on":     {`echo '{"type":""}'; exec sleep 60`, `whose "type" is ""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := turn()
			err := sh(t, `printf 'before\n'; `+tc.script).Run(t.Context(), turn)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if types(turn.Frames()) != "chunk" {
				t.Fatalf("emitted %.300s", turn.Frames())
			}
		})
	}
}

// deep is a script that prints an object with lists nested so many levels below it.
func deep(levels int, before, after string) string {
	return fmt.Sprintf(`python3 -c 'n = %d; print("{" + """%s""" + "\"l\":" + "["*(n+1) + "]"*(n+1) + """%s """ + "}")'`, levels, before, after)
}

// What is no object with a type is text, whatever it looks like.
func TestWhatOnlyLooksLikeAFrameIsText(t *testing.T) {
	for name, script := range map[string]string{
		"deep without type":     deep(200, ``, ``),
		"type below":            deep(200, `"a":{"type":"x"},`, ``),
		"type as a value":       deep(200, `"a":"type",`, ``),
		"deep and cut short":    deep(200, `"type":"x",`, ``) + ` | tr -d '}'`,
		"deep and more behind":  deep(200, `"type":"x",`, `} {`),
		"a list":                `echo '[{"type":"x"}]'`,
		"not JSON":              `echo '{"type":"x",}'`,
		"single quotes":         `echo "{'type':'x'}"`,
		"a frame behind a word": `echo 'x {"type":"x"}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := turn()
			if err := sh(t, script).Run(t.Context(), turn); err != nil || types(turn.Frames()) != "chunk message" {
				t.Fatalf("%v: %.300s", err, turn.Frames())
			}
		})
	}
	t.Run("as deep as frames may be", func(t *testing.T) {
		turn := turn()
		if err := sh(t, deep(126, `"type":"x",`, ``)).Run(t.Context(), turn); err != nil || types(turn.Frames()) != "x" {
			t.Fatalf("%v: %.300s", err, turn.Frames())
		}
	})
}

func TestB105_HalfSurrogatesAreReplaced(t *testing.T) {
	turn := turn()
	if err := sh(t, `echo '{"type":"chunk","content":"\ud83d|\ud83d\ude00"}'; printf '{"type":"chunk","content":"\377"}\n'`).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if turn.Text() != "\ufffd|😀\ufffd" {
		t.Fatalf("said %q", turn.Text())
	}
}

func TestOutputOfWhatOutlivesTheProgramIsBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		script, text string
		most         time.Duration
	}{
		"finishes soon":     {`(sleep 0.2; echo late) & echo early`, "early\nlate\n", 2 * time.Second},
		"holds the pipe":    {`sleep 60 & echo early`, "early\n", 4 * time.Second},
		"escapes and holds": {`setsid sleep 5 & echo early`, "early\n", 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := turn()
			began := time.Now()
			if err := sh(t, tc.script).Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); turn.Text() != tc.text || took > tc.most {
				t.Fatalf("%q after %s", turn.Text(), took)
			}
		})
	}
}

// TestASlowLogLosesNothing: the program has long ended when its output is read.
func TestASlowLogLosesNothing(t *testing.T) {
	turn := turn()
	release := make(chan struct{})
	turn.Emitting = func(n int, _ []byte) error {
		if n == 1 {
			<-release
		}
		return nil
	}
	timer := time.AfterFunc(2500*time.Millisecond, func() { close(release) })
	defer timer.Stop()
	if err := sh(t, `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done`).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	if turn.Text() != want.String() {
		t.Fatalf("%d of %d bytes", len(turn.Text()), want.Len())
	}
}

func TestARefusedFrameEndsTheProgram(t *testing.T) {
	turn := turn()
	boom := errors.New("boom")
	turn.Emitting = func(n int, _ []byte) error {
		if n == 2 {
			return boom
		}
		return nil
	}
	began := time.Now()
	if err := sh(t, `echo a; echo b; exec sleep 60`).Run(t.Context(), turn); !errors.Is(err, boom) || time.Since(began) > 5*time.Second {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
