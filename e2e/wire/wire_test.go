package wire_test

import (
	"strings"
	"testing"

	"turnlog/e2e/wire"
)

func header(count, first, last int64, incomplete bool) wire.Message {
	return wire.Message{Type: "chat_resumed", Thread: "t", Object: wire.Object{
		"status": "running", "replay_count": float64(count), "first_seq": float64(first), "last_seq": float64(last),
		"replay_incomplete": incomplete, "epoch": "e", "turn_id": "x", "outcome": "", "on_disconnect": "grace",
	}}
}

func chunk(seq int64, s string) wire.Message {
	return wire.Message{Type: "chunk", Thread: "t", Seq: seq, Object: wire.Object{"content": s}}
}

func TestCheckFindsHolesRepeatsAndWrongCounts(t *testing.T) {
	for name, row := range map[string]struct {
		frames []wire.Message
		bad    int
	}{
		"dense":              {[]wire.Message{header(2, 1, 2, false), chunk(1, "a"), chunk(2, "b"), chunk(3, "c")}, 0},
		"hole":               {[]wire.Message{chunk(1, "a"), chunk(3, "c")}, 1},
		"repeat":             {[]wire.Message{chunk(1, "a"), chunk(1, "a")}, 1},
		"replay starts late": {[]wire.Message{header(2, 1, 2, false), chunk(2, "b")}, 1},
		"live before replay": {[]wire.Message{header(2, 1, 2, false), chunk(3, "c"), chunk(1, "a")}, 2},
		"wrong count":        {[]wire.Message{header(3, 1, 2, false), chunk(1, "a")}, 1},
		"poor header":        {[]wire.Message{{Type: "chat_resumed", Object: wire.Object{"status": "unknown"}}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			if bad := wire.Check(row.frames); len(bad) != row.bad {
				t.Errorf("%d violations, want %d:\n%s", len(bad), row.bad, strings.Join(bad, "\n"))
			}
		})
	}
}

func TestStoryJoinsSockets(t *testing.T) {
	s := wire.NewStory("t")
	first := []wire.Message{chunk(1, "a"), chunk(2, "b")}
	second := []wire.Message{header(1, 3, 3, false), chunk(3, "c")}
	if bad := append(s.Add(first), s.Add(second)...); len(bad) > 0 {
		t.Error(bad)
	}
	if got := s.Text(""); got != "abc" {
		t.Errorf("text %q", got)
	}
	if bad := s.Add([]wire.Message{header(1, 5, 5, false), chunk(5, "e")}); len(bad) != 1 {
		t.Errorf("hole across sockets: %v", bad)
	}
	if bad := s.Add([]wire.Message{header(1, 2, 2, false), chunk(2, "X")}); len(bad) != 1 {
		t.Errorf("changed content: %v", bad)
	}
}

func TestDemoText(t *testing.T) {
	if got := wire.DemoText(2, 0); got != "1: 2: " {
		t.Errorf("%q", got)
	}
	if got := wire.DemoChunk(1, 300); len(got) != 301 || !strings.HasPrefix(got, "1:abc") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
