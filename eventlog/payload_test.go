package eventlog_test

import (
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

func FuzzPayload(f *testing.F) {
	f.Add("d\n")
	f.Add("r id\n")
	f.Add("1 e 1 1 1 t 1\n1 2\na{}")
	f.Add("1 e 1 1 1 t 2\n1 2\na{}3 4\nabc{\"\"}")
	f.Fuzz(func(t *testing.T, p string) {
		c, control, err := eventlog.DecodePayload(p)
		if err != nil || control != "" {
			return
		}
		again, _, err := eventlog.DecodePayload(encodePayload(c))
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("not stable: %v\n%+v\n%+v", err, c, again)
		}
	})
}
