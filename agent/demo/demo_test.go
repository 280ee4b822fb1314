package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/demo"
	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func info(script string) agent.Info {
	return agent.Info{
		Message: json.RawMessage(`{"role":"user","content":"how are you"}`),
		Data:    json.RawMessage(`{"thread_id":"t","content":"how are you","demo":` + script + `}`),
	}
}

func run(t *testing.T, in agent.Info) (*agenttest.Turn, error) {
	t.Helper()
	turn := agenttest.New(in)
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
		return json.RawMessage(`{"ok":true,"result":7}`), nil
	}
	return turn, demo.Agent{}.Run(t.Context(), turn)
}

func TestScripts(t *testing.T) {
	for name, tc := range map[string]struct{ script, text string }{
		"numbers":                  {`{"frames":3}`, "1: 2: 3: "},
		"ten when nothing is said": {`{}`, "1: 2: 3: 4: 5: 6: 7: 8: 9: 10: "},
		"none":                     {`{"frames":0}`, ""},
		"filler":                   {`{"frames":2,"bytes":5}`, "1:abc 2:abc "},
		"long filler":              {`{"frames":1,"bytes":300}`, "1:" + strings.Repeat("abcdefghijklmnopqrstuvwxyz", 12)[:298] + " "},
		"words":                    {`{"text":" Grüße  an\nalle 😀 "}`, "Grüße an alle 😀 "},
		"words capped":             {`{"text":"a b c","frames":2}`, "a b "},
		"more frames than words":   {`{"text":"a b","frames":9}`, "a b "},
		"tool call":                {`{"frames":3,"tool_call":{"name":"f","args":{"x":1},"at":2}}`, `1: answer:{"ok":true,"result":7} 2: 3: `},
		"approval behind the end":  {`{"frames":1,"approval":{"tool_name":"f","at":9}}`, `1: answer:{"ok":true,"result":7} `},
		"both, in order":           {`{"text":"a b","tool_call":{"name":"f","at":2},"approval":{"tool_name":"g","at":1}}`, `answer:{"ok":true,"result":7} a answer:{"ok":true,"result":7} b `},
	} {
		t.Run(name, func(t *testing.T) {
			turn, err := run(t, info(tc.script))
			if err != nil {
				t.Fatal(err)
			}
			if turn.Text() != tc.text || turn.Message() != tc.text {
				t.Fatalf("said %q, message %q, want %q", turn.Text(), turn.Message(), tc.text)
			}
			frames := turn.Frames()
			if typ, _ := frame.Type(frames[len(frames)-1]); typ != "message" {
				t.Fatalf("last frame %s", frames[len(frames)-1])
			}
		})
	}
}

func TestScriptsThatMakeNoSenseAreRefusedByName(t *testing.T) {
	for script, field := range map[string]string{
		`{"frames":-1}`: "frames", `{"frames":1e3}`: "frames", `{"frame":1}`: "frame", `{"interval_ms":-1}`: "interval_ms", `{"bytes":-1}`: "bytes",
		`{"bytes":99999999}`: "limits.frame_bytes", `{"fail_at":-1}`: "fail_at", `{"tool_call":{}}`: "tool_call", `{"approval":{}}`: "approval", `7`: "demo", `"x"`: "demo",
	} {
		turn, err := run(t, info(script))
		if script == `{"frames":1e3}` {
			if err == nil && turn.Count() != 1001 {
				t.Errorf("1e3 frames: %d", turn.Count())
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), field) || turn.Count() != 0 {
			t.Errorf("%s: %v", script, err)
		}
	}
}

func TestWrongOptionsAreExplainedToPeople(t *testing.T) {
	for script, want := range map[string]string{
		`{"frames":"x"}`:           "demo.frames must be a whole number from 0 to 100000000, not string",
		`{"frames":1.5}`:           "demo.frames must be a whole number from 0 to 100000000, not number 1.5",
		`{"frames":-1}`:            "demo.frames must be a whole number from 0 to 100000000",
		`{"bytes":-1}`:             "demo.bytes must be a whole number from 0",
		`{"tool_call":{"name":1}}`: "demo.tool_call.name must be a string, not number",
		`{"stamp":"yes"}`:          "demo.stamp must be true or false, not string",
		`{"frame":1}`:              `demo has no option "frame"`,
		`{"approval":{}}`:          "demo.approval needs a tool_name",
		`7`:                        "demo must be an object",
	} {
		_, err := run(t, info(script))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json:") {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

func TestRequestsCarryTheirFields(t *testing.T) {
	turn, err := run(t, info(`{"frames":1,"tool_call":{"name":"f","args":{"n":12345678901234567890}},"approval":{"tool_name":"g"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var asked []any
	for _, a := range turn.Asks() {
		asked = append(asked, a.Kind, a.Name, a.Fields)
	}
	got, _ := json.Marshal(asked)
	want := `["tool_call","f",{"args":{"n":12345678901234567890},"name":"f"},"tool_approval","g",{"tool_name":"g"}]`
	if string(got) != want {
		t.Fatalf("asked %s", got)
	}
}

func TestB45_FailuresComeWhenAsked(t *testing.T) {
	turn, err := run(t, info(`{"frames":5,"fail_at":3}`))
	if err == nil || turn.Text() != "1: 2: " || turn.Message() != "" {
		t.Fatalf("%v after %q", err, turn.Text())
	}
	defer func() {
		if recover() == nil {
			t.Fatal("no panic")
		}
	}()
	_, _ = run(t, info(`{"frames":5,"panic_at":3}`))
}

func TestB50_ReturnsTheCauseOfItsEnd(t *testing.T) {
	for name, script := range map[string]string{
		"between chunks": `{"frames":5,"interval_ms":60000}`,
		"hanging":        `{"frames":5,"hang_at":2}`,
		"waiting":        `{"frames":5,"tool_call":{"name":"f","at":2}}`,
		"hanging on":     `{"frames":5,"hang_at":2,"ignore_stop":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := agenttest.New(info(script))
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error, 1)
				go func() { done <- demo.Agent{}.Run(ctx, turn) }()
				synctest.Wait()
				if turn.Text() != "1: " {
					t.Fatalf("said %q", turn.Text())
				}
				start := time.Now()
				cancel(&agent.Ended{Outcome: "stopped"})
				var ended *agent.Ended
				if err := <-done; !errors.As(err, &ended) || ended.Outcome != "stopped" {
					t.Fatal(err)
				}
				if late := time.Since(start); (late > 0) != (name == "hanging on") {
					t.Fatalf("returned %s after the end", late)
				}
			})
		})
	}
}

func TestIgnoreStopGoesOnUntilTheScriptIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := agenttest.New(info(`{"frames":50,"interval_ms":100,"ignore_stop":true}`))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(&agent.Ended{Outcome: "stopped"})
		start := time.Now()
		if err := (demo.Agent{}).Run(ctx, turn); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 4900*time.Millisecond || turn.Count() != 0 {
			t.Fatalf("%s, %d frames", took, turn.Count())
		}
	})
}

func TestKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := run(t, info(`{"frames":11,"interval_ms":2.5}`)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 25*time.Millisecond {
			t.Fatalf("took %s", took)
		}
	})
}

func TestB47_SteersAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := agenttest.New(info(`{"frames":3,"interval_ms":1000}`))
		done := make(chan error, 1)
		go func() { done <- demo.Agent{}.Run(t.Context(), turn) }()
		synctest.Wait()
		steer := agent.Input{Kind: agent.InputSteer, Message: json.RawMessage(`{"role":"user","content":[{"type":"text","text":"be brief"}]}`)}
		if !turn.Send(t.Context(), steer) || !turn.Send(t.Context(), agent.Input{Kind: agent.InputPermissionMode, Mode: "auto"}) {
			t.Fatal("not taken")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if turn.Message() != "1: steer:be brief 2: 3: " || turn.Text() != turn.Message() {
			t.Fatalf("said %q", turn.Message())
		}
	})
}

func TestWithoutAScriptItRepeatsFriendly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		in := info(`null`)
		turn, err := run(t, in)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(turn.Text(), `Hello! You said: "how are you". `) || turn.Message() != turn.Text() {
			t.Fatalf("said %q", turn.Text())
		}
		if took := time.Since(start); took != time.Duration(turn.Count()-2)*60*time.Millisecond {
			t.Fatalf("took %s for %d frames", took, turn.Count())
		}
		again, _ := run(t, in)
		if again.Text() != turn.Text() {
			t.Fatal("not deterministic")
		}
		in.Message = json.RawMessage(`{"content":"` + strings.Repeat("word ", 5000) + `"}`)
		if long, _ := run(t, in); long.Count() > 100 {
			t.Fatalf("%d frames", long.Count())
		}
		in.Message, in.Data = json.RawMessage(`{"content":[]}`), nil
		if none, err := run(t, in); err != nil || none.Text() == "" {
			t.Fatalf("%q, %v", none.Text(), err)
		}
	})
}

func TestTheMessageIsCutAtHalfTheFrameLimit(t *testing.T) {
	in := info(`{"frames":100,"bytes":99}`)
	in.FrameLimit = 4096
	turn, err := run(t, in)
	if err != nil {
		t.Fatal(err)
	}
	frames := turn.Frames()
	last := frames[len(frames)-1]
	if truncated, _ := frame.Raw(last, "truncated"); string(truncated) != "true" || turn.Message() != turn.Text()[:2048] {
		t.Fatalf("message %s", last)
	}
}

func TestEmitErrorsEndTheTurn(t *testing.T) {
	turn := agenttest.New(info(`{"frames":5}`))
	boom := errors.New("boom")
	turn.Emitting = func(n int, _ []byte) error {
		if n == 3 {
			return boom
		}
		return nil
	}
	if err := (demo.Agent{}).Run(t.Context(), turn); !errors.Is(err, boom) || turn.Text() != "1: 2: " {
		t.Fatalf("%v after %q", err, turn.Text())
	}
}

func TestAnExpiredRequestIsAnsweredSo(t *testing.T) {
	turn := agenttest.New(info(`{"frames":1,"tool_call":{"name":"f"}}`))
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return nil, agent.ErrExpired }
	if err := (demo.Agent{}).Run(t.Context(), turn); err != nil || turn.Text() != `answer:{"expired":true} 1: ` {
		t.Fatalf("%v, %q", err, turn.Text())
	}
}

func TestStampsTellWhenAChunkWasMade(t *testing.T) {
	before := time.Now().UnixMicro()
	turn, err := run(t, info(`{"frames":2,"stamp":true}`))
	if err != nil {
		t.Fatal(err)
	}
	var chunk struct {
		Content  string
		Metadata struct{ T int64 } `json:"content_metadata"`
	}
	if err := json.Unmarshal(turn.Frames()[1], &chunk); err != nil || chunk.Content != "2: " || chunk.Metadata.T < before || chunk.Metadata.T > time.Now().UnixMicro() {
		t.Fatal(fmt.Sprint(chunk, err))
	}
}
