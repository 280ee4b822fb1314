package coalesce_test

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
	"turnlog/agent/coalesce"
	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type agentFunc func(ctx context.Context, turn agent.Turn) error

func (f agentFunc) Run(ctx context.Context, turn agent.Turn) error { return f(ctx, turn) }

// run runs f under options and returns the frames.
func run(t *testing.T, o coalesce.Options, turn *agenttest.Turn, f agentFunc) (string, error) {
	t.Helper()
	a, err := coalesce.New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Run(t.Context(), turn)
	var out []string
	for _, b := range turn.Frames() {
		out = append(out, string(b))
	}
	return strings.Join(out, "\n"), err
}

func say(ctx context.Context, turn agent.Turn, frames ...string) error {
	for _, f := range frames {
		if err := turn.Emit(ctx, []byte(f)); err != nil {
			return err
		}
	}
	return nil
}

func chunk(text string) string { return string(frame.Chunk(text)) }

func TestTextIsGatheredAndOrderKept(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
	got, err := run(t, coalesce.Options{Bytes: 8}, turn, func(ctx context.Context, turn agent.Turn) error {
		agent.ReportUsage(turn, []byte(`{"n":1}`))
		if err := say(ctx, turn, chunk("a "), chunk("é😀"), chunk("b"), // eight bytes are there
			`{"type":"chunk","content":"hm","thinking":true}`, `{"type":"chunk","content":"m","thinking":true}`, chunk("c"),
			`{"type":"chunk","content":"img","content_type":"image"}`, chunk("d"), `{"type":"x"}`, chunk(""), chunk("long enough by itself"), chunk("e")); err != nil {
			return err
		}
		if _, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: "f"}); err != nil {
			return err
		}
		if err := say(ctx, turn, chunk("f")); err != nil {
			return err
		}
		if err := turn.Checkpoint(ctx, []byte(`1`)); err != nil {
			return err
		}
		return say(ctx, turn, chunk("g"))
	})
	want := strings.Join([]string{
		chunk("a é😀"), // eight bytes
		chunk("b"), `{"type":"chunk","content":"hmm","thinking":true}`, chunk("c"),
		`{"type":"chunk","content":"img","content_type":"image"}`, chunk("d"), `{"type":"x"}`, chunk("long enough by itself"),
		chunk("e"), chunk("f"), chunk("g"),
	}, "\n")
	if err != nil || got != want || string(turn.Usage()) != `{"n":1}` {
		t.Fatalf("%v\n%s", err, got)
	}
}

func TestTextGoesOnWhenItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := agenttest.New(agent.Info{})
		got, err := run(t, coalesce.Options{For: 50 * time.Millisecond}, turn, func(ctx context.Context, inner agent.Turn) error {
			for i := range 10 {
				if err := say(ctx, inner, chunk(fmt.Sprint(i))); err != nil {
					return err
				}
				wait := time.NewTimer(20 * time.Millisecond)
				<-wait.C
			}
			return nil
		})
		if err != nil || got != strings.Join([]string{chunk("012"), chunk("345"), chunk("678"), chunk("9")}, "\n") {
			t.Fatalf("%v\n%s", err, got)
		}
	})
}

func TestWhatWasSaidIsToldWhateverTheEnd(t *testing.T) {
	mine := errors.New("mine")
	turn := agenttest.New(agent.Info{})
	got, err := run(t, coalesce.Options{Bytes: 100}, turn, func(ctx context.Context, turn agent.Turn) error {
		return errors.Join(say(ctx, turn, chunk("a")), mine)
	})
	if !errors.Is(err, mine) || got != chunk("a") {
		t.Errorf("%v %s", err, got)
	}
	turn = agenttest.New(agent.Info{})
	func() {
		defer func() { _ = recover() }()
		_, _ = run(t, coalesce.Options{Bytes: 100}, turn, func(ctx context.Context, turn agent.Turn) error {
			_ = say(ctx, turn, chunk("a"))
			panic("as asked")
		})
	}()
	if turn.Text() != "a" {
		t.Errorf("a panic swallowed %q", turn.Text())
	}
}

func TestRefusalsOfHeldTextAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		turn := agenttest.New(agent.Info{})
		turn.Emitting = func(int, []byte) error { return refused }
		_, err := run(t, coalesce.Options{For: time.Millisecond}, turn, func(ctx context.Context, inner agent.Turn) error {
			if err := say(ctx, inner, chunk("a")); err != nil {
				t.Error("was not held back")
			}
			<-time.After(time.Second)
			return say(ctx, inner, chunk("b"))
		})
		if !errors.Is(err, refused) {
			t.Fatal(err)
		}
	})
}

func TestImpossibleOptions(t *testing.T) {
	for _, o := range []coalesce.Options{{}, {For: -1}, {Bytes: -1, For: 1}} {
		if _, err := coalesce.New(agentFunc(nil), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
