package agent_test

import (
	"testing"

	"go.uber.org/goleak"

	"turnlog/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestText(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"string":         {`{"role":"user","content":"hi é"}`, "hi é"},
		"blocks":         {`{"content":[{"type":"text","text":"a"},{"type":"image","image":{"uri":"x"}},"b"]}`, "a\nb"},
		"empty":          {`{"content":""}`, ""},
		"null":           {`{"content":null}`, ""},
		"absent":         {`{}`, ""},
		"object":         {`{"content":{"text":"a"}}`, ""},
		"not a message":  {`[1]`, ""},
		"nothing at all": {``, ""},
		"odd blocks":     {`{"content":[1,null,{"text":2},{"text":"x"}]}`, "\nx"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := agent.Text([]byte(tc.in)); got != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestEndedNamesItsOutcome(t *testing.T) {
	if got := (&agent.Ended{Outcome: "stopped"}).Error(); got != "turn ended: stopped" {
		t.Fatal(got)
	}
}
