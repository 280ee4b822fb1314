package eventlog_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"turnlog/eventlog"
)

// encodePayload builds what the scripts publish.
func encodePayload(c eventlog.Commit) string {
	var b strings.Builder
	fmt.Fprintf(&b, "1 %s %d %d %d %s %d\n", c.Epoch, c.Ordinal, c.Attempt, c.FirstSeq, c.TurnID, len(c.Entries))
	for _, e := range c.Entries {
		fmt.Fprintf(&b, "%d %d\n%s%s", len(e.Type), len(e.Frame), e.Type, e.Frame)
	}
	return b.String()
}

func TestPayload_RoundTrip(t *testing.T) {
	want := eventlog.Commit{Epoch: "e1", Ordinal: 3, Attempt: 2, TurnID: "t-1", FirstSeq: 7, Entries: []eventlog.Entry{
		{Type: "chunk", Frame: []byte("{\"type\":\"chunk\",\"content\":\"a\\n1 2\\n\"}")},
		{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"é"}`)},
		{Type: "turn_finished", Frame: []byte(`{"type":"turn_finished"}`)},
	}}
	got, control, err := eventlog.DecodePayload(encodePayload(want))
	if err != nil || control != "" || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %q, %v", got, control, err)
	}
	for payload, want := range map[string]string{"d\n": "d", "e\n": "e", "r call-1\n": "rcall-1"} {
		if _, control, err := eventlog.DecodePayload(payload); err != nil || control != want {
			t.Errorf("%q: %q, %v", payload, control, err)
		}
	}
}

func TestPayload_RefusesWhatIsMalformed(t *testing.T) {
	for _, p := range []string{
		"", "\n", "x\n", "d", "r \n", "2 e 1 1 1 t 1\n1 2\na{}", "1 e 1 1 1 t 1", "1 e 1 1 1 t\n", "1 e 1 1 1 t 1 9\n1 2\na{}",
		"1  1 1 1 t 1\n1 2\na{}", "1 e 1 1 0 t 1\n1 2\na{}", "1 e 1 1 1 t 0\n", "1 e 1 1 1 t 2\n1 2\na{}", "1 e 1 1 1 t 1\n1 2\na{}x",
		"1 e 1 1 1 t 1\n1 3\na{}", "1 e 1 1 1 t 1\n0 2\n{}", "1 e 1 1 1 t 1\n99999999999999999999 2\n{}", "1 e 1 1 x t 1\n1 2\na{}",
		"1 e 1 1 1 t 99999999\n1 2\na{}", "1 e 1 1 9223372036854775807 t 1\n1 2\na{}",
	} {
		if c, control, err := eventlog.DecodePayload(p); err == nil {
			t.Errorf("%q was taken: %+v %q", p, c, control)
		}
	}
}

// What the scripts write is read back as it was; cut off or longer by a byte it
// is refused; and whatever else is taken makes sense.
func FuzzPayload(f *testing.F) {
	f.Add("d\n", "e", "t", "a", []byte("{}"), uint8(0), uint16(0))
	f.Add("r id\n", "e1", "t-1", "chunk", []byte("{\"type\":\"chunk\",\"content\":\"1 2\\n\"}"), uint8(3), uint16(40))
	f.Add("1 e 1 1 1 t 1\n1 2\na{}", "0190-x", "u", "message", []byte("\n9 9\n"), uint8(1), uint16(7))
	f.Add("1 e 1 1 1 t 2\n1 2\na{}3 4\nabc{\"\"}", "e", "t", "tool_call", []byte{0, 0xff}, uint8(255), uint16(65535))
	f.Add("1 e 1 1 1 t 65536\n1 1073741824\n", "e", "t", " ", []byte(" "), uint8(2), uint16(1))
	f.Add("1 e 01 +1 9007199254740000 t 1\n01 02\na{}", "e", "t", "\n", []byte("1 e 1 1 1 t 1\n"), uint8(4), uint16(3))
	f.Fuzz(func(t *testing.T, raw, epoch, turn, typ string, frame []byte, n uint8, cut uint16) {
		c, control, err := eventlog.DecodePayload(raw)
		if err == nil && control == "" {
			checkTaken(t, raw, c)
		}
		if epoch == "" || turn == "" || strings.ContainsAny(epoch+turn, " \n") || typ == "" || len(frame) == 0 {
			return // the scripts write none of these
		}
		want := eventlog.Commit{Epoch: epoch, Ordinal: int64(n), Attempt: int(n) + 1, TurnID: turn, FirstSeq: 1 + int64(cut)<<20}
		for i := range int(n)%7 + 1 {
			want.Entries = append(want.Entries, eventlog.Entry{Type: typ[:1+i%len(typ)], Frame: append(bytes.Repeat(frame, i%3+1), byte('0'+i))})
		}
		whole := encodePayload(want)
		if got, control, err := eventlog.DecodePayload(whole); err != nil || control != "" || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %+v, %q, %v", whole, got, control, err)
		}
		for _, broken := range []string{whole[:int(cut)%len(whole)], whole[:len(whole)-1], whole + "\n", whole + "0"} {
			if got, control, err := eventlog.DecodePayload(broken); err == nil {
				t.Fatalf("%q was taken: %+v %q", broken, got, control)
			}
		}
	})
}

func checkTaken(t *testing.T, raw string, c eventlog.Commit) {
	t.Helper()
	size := 0
	for _, e := range c.Entries {
		if e.Type == "" || len(e.Frame) == 0 {
			t.Fatalf("%q: an empty entry in %+v", raw, c)
		}
		size += len(e.Type) + len(e.Frame)
	}
	if len(c.Entries) == 0 || size >= len(raw) || c.Epoch == "" || c.TurnID == "" || c.FirstSeq < 1 || c.Ordinal < 0 || c.Attempt < 0 {
		t.Fatalf("%q was taken: %+v", raw, c)
	}
	if again, _, err := eventlog.DecodePayload(encodePayload(c)); err != nil || !reflect.DeepEqual(c, again) {
		t.Fatalf("not stable: %v\n%+v\n%+v", err, c, again)
	}
}

// Nonsense on a live channel costs a look at the log, never a frame.
func FuzzLiveMessage(f *testing.F) {
	for _, seed := range []string{"", "d\n", "e\n", "r x\n", "1 E2 1 1 2 t 1\n1 2\na{}", "1 E2 1 1 2 t 9\n1 2\na{}", "2 E 1\n", "r " + strings.Repeat("x", 300) + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if strings.Contains(raw, "E1") {
			return // a forgery of this very epoch is believed: whoever writes to Redis is trusted
		}
		r := newRig(eventlog.HubOptions{RingFrames: 4})
		r.append(alice, "turn_started")
		tl := r.join(t, alice, eventlog.Cursor{})
		channel, _ := r.LiveChannel(alice)
		for range 3 {
			tl.drain()
			r.append(alice, "chunk")
			r.bus.publish(channel, raw)
			r.append(alice, "thought")
		}
		tl.drain()
		if tl.last != 7 {
			t.Fatalf("%q: ended at %d", raw, tl.last)
		}
		tl.v.Leave(t.Context(), false)
	})
}
