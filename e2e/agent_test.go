package e2e_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"turnlog/e2e/wire"
)

// program starts a place whose agent is a shell script that reads the message's text.
func program(t *testing.T, kind, script string) *place {
	t.Helper()
	path := write(t, "agent.sh", "#!/bin/sh\n"+script, 0o700)
	return own(t, kind, "--agent", "command", "--agent.stdin", "text", "--limits.frame_bytes", "64KiB", "--", path)
}

func TestB45_FramesThatAreNoneEndTheTurnAndNotTheNode(t *testing.T) {
	p := program(t, twoNodes, `
read -r what
case "$what" in
  *oversized*) printf '{"type":"chunk","content":"'; head -c 200000 /dev/zero | tr '\0' x; printf '"}\n' ;;
  *exit*) echo some text; echo went wrong >&2; exit 3 ;;
  *) echo "plain text" ;;
esac
`)
	user := someone()
	a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
	for _, what := range []string{"oversized", "exit"} {
		b.ok("follow", object{"thread_id": what})
		ack := a.say(what, nil, object{"content": what})
		for _, v := range []*viewer{a, b} {
			if end := v.end(what, ack.Turn); end.Str("outcome") != "failed" || end.Str("error") == "" {
				t.Errorf("%s: end %s", what, end)
			}
			v.typed(what, "error")
			v.await(what, "a frame that makes it idle", func(m wire.Message) bool { return m.Type == "chunk" && m.Bool("done") })
		}
		next := a.say(what, nil, object{"content": "fine"})
		if end := a.end(what, next.Turn); end.Str("outcome") != "completed" || !strings.Contains(a.text(what, next.Turn), "plain text") {
			t.Errorf("after %s: end %s, said %q", what, end, a.text(what, next.Turn))
		}
	}
}

// B105: characters cut anywhere by the agent's writes arrive whole; bytes that are none are
// replaced before they enter the log.
func TestB105_TextArrivesByteForByteWhereverItWasCut(t *testing.T) {
	const text = "Grüße 😀 日本語 äöü "
	var script strings.Builder
	script.WriteString("cat >/dev/null\n")
	for i := range len(text) { // one write per byte
		script.WriteString("printf '\\" + octal(text[i]) + "'\n")
	}
	script.WriteString("printf '\\377\\376'\n")
	p := program(t, twoNodes, script.String())
	user := someone()
	b := dial(t, p.url(1, user))
	b.ok("follow", object{"thread_id": "t"})
	ack := dial(t, p.url(0, user)).say("t", nil)
	if end := b.end("t", ack.Turn); end.Str("outcome") != "completed" {
		t.Errorf("end %s", end)
	}
	got := strings.TrimRight(b.text("t", ""), "\n")
	if rest, ok := strings.CutPrefix(got, text); !ok || strings.Trim(rest, string(utf8.RuneError)) != "" || rest == "" {
		t.Errorf("text %q, want %q and replacements", got, text)
	}
}

func octal(b byte) string {
	return string([]byte{'0' + b>>6, '0' + b>>3&7, '0' + b&7})
}
