package e2e_test

import (
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

type object = wire.Object

// viewer is one socket of a test, with checks.
type viewer struct {
	t testing.TB
	*wire.Conn
}

// dial opens a socket that is checked and cut when the test ends.
func dial(t testing.TB, url string) *viewer {
	t.Helper()
	return dialWith(t, url, wire.Options{})
}

func dialWith(t testing.TB, url string, o wire.Options) *viewer {
	t.Helper()
	c, err := wire.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatalf("dial %s: %v", url, err)
	}
	v := &viewer{t: t, Conn: c}
	t.Cleanup(func() {
		c.Resume()
		c.Cut()
		v.verify()
	})
	return v
}

// verify checks the numbering of every thread on the socket.
func (v *viewer) verify() {
	v.t.Helper()
	threads := map[string]bool{}
	for _, m := range v.Messages() {
		if m.Type != "" && m.Thread != "" {
			threads[m.Thread] = true
		}
	}
	for thread := range threads {
		if bad := wire.Check(v.Frames(thread)); len(bad) > 0 {
			v.t.Errorf("thread %q on one socket:\n%s", thread, strings.Join(bad[:min(len(bad), 10)], "\n"))
		}
	}
}

// do sends a command and returns its acknowledgement, refusals included.
func (v *viewer) do(name string, data object) wire.Message {
	v.t.Helper()
	m, err := v.Do(name, data)
	if err != nil {
		v.t.Fatalf("%v\nlast messages:\n%s", err, v.recent())
	}
	return m
}

// ok is do that must be accepted.
func (v *viewer) ok(name string, data object) wire.Message {
	v.t.Helper()
	m := v.do(name, data)
	if m.Has("error") {
		v.t.Fatalf("%s was refused: %s", name, m)
	}
	return m
}

// say submits a message for the demo agent and returns the ack.
func (v *viewer) say(thread string, demo object, more ...object) wire.Message {
	v.t.Helper()
	return v.ok("chat_message", message(thread, demo, more...))
}

func message(thread string, demo object, more ...object) object {
	data := object{"thread_id": thread, "content": "go"}
	if demo != nil {
		data["demo"] = demo
	}
	for _, m := range more {
		for k, val := range m {
			data[k] = val
		}
	}
	return data
}

// resume sends resume_chat and returns its acknowledgement.
func (v *viewer) resume(thread string, more ...object) wire.Message {
	v.t.Helper()
	data := object{"thread_id": thread}
	for _, m := range more {
		for k, val := range m {
			data[k] = val
		}
	}
	return v.ok("resume_chat", data)
}

// header is the newest chat_resumed of the thread.
func (v *viewer) header(thread string) wire.Message {
	v.t.Helper()
	frames := v.Frames(thread)
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Type == "chat_resumed" {
			return frames[i]
		}
	}
	v.t.Fatalf("no header for %q", thread)
	return wire.Message{}
}

// await waits for a message of the thread, in the whole record of the socket.
func (v *viewer) await(thread, what string, match func(wire.Message) bool) wire.Message {
	v.t.Helper()
	return v.awaitFrom(0, thread, what, match)
}

func (v *viewer) awaitFrom(from int, thread, what string, match func(wire.Message) bool) wire.Message {
	v.t.Helper()
	_, m, err := v.Await(from, wire.Patience, func(m wire.Message) bool { return m.Thread == thread && match(m) })
	if err != nil {
		v.t.Fatalf("%s on %q: %v\nlast messages:\n%s", what, thread, err, v.recent())
	}
	return m
}

// seq waits for a frame number.
func (v *viewer) seq(thread string, n int64) wire.Message {
	v.t.Helper()
	return v.await(thread, "frame", func(m wire.Message) bool { return m.Seq >= n })
}

// end waits for the end of a turn ("" = any) and returns its frame.
func (v *viewer) end(thread, turn string) wire.Message {
	v.t.Helper()
	return v.await(thread, "turn_finished", func(m wire.Message) bool {
		return m.Type == "turn_finished" && (turn == "" || m.Turn == turn)
	})
}

// typed waits for a frame of a type.
func (v *viewer) typed(thread, typ string) wire.Message {
	v.t.Helper()
	return v.await(thread, typ, func(m wire.Message) bool { return m.Type == typ })
}

// numbers are the chat_seqs received for the thread.
func (v *viewer) numbers(thread string) []int64 {
	var out []int64
	for _, m := range v.Frames(thread) {
		if m.Seq > 0 {
			out = append(out, m.Seq)
		}
	}
	return out
}

// text is what the thread's chunks say on this socket.
func (v *viewer) text(thread, turn string) string {
	return wire.Text(v.Frames(thread), turn)
}

// count is how many frames of the thread match so far.
func (v *viewer) count(thread string, match func(wire.Message) bool) int {
	v.t.Helper()
	n := 0
	for _, m := range v.Frames(thread) {
		if match(m) {
			n++
		}
	}
	return n
}

// settle makes a round trip.
func (v *viewer) settle() {
	v.t.Helper()
	v.ok("set_mode", object{"mode": "text"})
}

func (v *viewer) recent() string {
	all := v.Messages()
	var b strings.Builder
	for _, m := range all[max(0, len(all)-12):] {
		line := m.String()
		b.WriteString(line[:min(len(line), 240)] + "\n")
	}
	return b.String()
}

// eventually polls a condition that no message announces.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		<-time.After(10 * time.Millisecond)
	}
}
