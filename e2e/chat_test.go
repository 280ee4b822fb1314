package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"turnlog/e2e/wire"
)

// terminal is one "turnlog chat" whose stdin is a pipe.
type terminal struct {
	*process
	in *os.File
}

func chat(t testing.TB, url string, args ...string) *terminal {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := spawn(r, binary(), append([]string{"chat", "--url", url}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(); p.kill() })
	return &terminal{p, w}
}

func (c *terminal) types(line string) { _, _ = io.WriteString(c.in, line+"\n") }

// sees waits for text on stdout, notes for a status line on stderr.
func (c *terminal) sees(t testing.TB, pattern string) {
	t.Helper()
	if _, err := c.stdout.Await(patience, regexp.MustCompile(pattern)); err != nil {
		t.Fatalf("stdout: %v\nstderr:\n%s", err, c.stderr)
	}
}

func (c *terminal) notes(t testing.TB, pattern string) {
	t.Helper()
	if _, err := c.stderr.Await(patience, regexp.MustCompile(pattern)); err != nil {
		t.Fatalf("stderr: %v", err)
	}
}

const slowDemo = `{"demo":{"frames":60,"interval_ms":25}}`

func TestChatDropsTheConnectionAndGoesOn(t *testing.T) {
	p := at(t, twoNodes)
	c := chat(t, p.nodes[0].url(someone(), ""), "--data", slowDemo)
	c.types("count")
	c.sees(t, "3: ")
	c.types("/drop 300ms")
	c.notes(t, `connection lost`)
	c.notes(t, `reconnected to node \S+, \d+ frames? replayed`)
	_ = c.in.Close()
	if code := c.exit(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, c.stderr)
	}
	if got := strings.TrimSuffix(c.stdout.String(), "\n"); got != wire.DemoText(60, 0) {
		t.Errorf("stdout %q", got)
	}
	if strings.Contains(c.stderr.String()+c.stdout.String(), "\x1b") {
		t.Error("colour in a pipe")
	}
}

func TestChatCommands(t *testing.T) {
	p := at(t, oneNode)
	user := someone()
	c := chat(t, p.url(0, user), "--thread", "talk", "--data", `{"demo":{"frames":400,"interval_ms":10,"approval":{"tool_name":"rm","at":3}}}`)
	c.types("do it")
	c.notes(t, "asks to use tool rm")
	c.types("/allow")
	c.sees(t, `answer:.*"decision":"allow"`)
	c.types("/steer be brief")
	c.sees(t, `steer:be brief`)
	c.types("/threads")
	c.notes(t, `1 running turns`)
	c.notes(t, `talk\s+watched`)
	c.types("/help")
	c.notes(t, `/drop \[5s\]`)

	other := chat(t, p.url(0, user), "--thread", "talk")
	other.notes(t, `a turn is running: \d+ frames replayed`)
	other.types("/stop")
	c.notes(t, "turn stopped")
	other.notes(t, "turn stopped")
	other.types("/quit")
	if code := other.exit(t); code != 2 {
		t.Errorf("exit code %d after a stopped turn, want 2\n%s", code, other.stderr)
	}
	_ = c.in.Close()
	if code := c.exit(t); code != 2 {
		t.Errorf("exit code %d after a stopped turn, want 2\n%s", code, c.stderr)
	}
}

func TestChatOneMessageAndItsExitCode(t *testing.T) {
	p := at(t, oneNode)
	good := chat(t, p.url(0, someone()), "hello there")
	if code := good.exit(t); code != 0 || !strings.Contains(good.stdout.String(), `You said: "hello there"`) {
		t.Errorf("exit code %d, stdout %q", code, good.stdout)
	}
	bad := chat(t, p.url(0, someone()), "--data", `{"demo":{"fail_at":2}}`, "hello")
	if code := bad.exit(t); code != 2 || !strings.Contains(bad.stderr.String(), "turn failed") {
		t.Errorf("exit code %d of a failed turn, want 2\n%s", code, bad.stderr)
	}
	for name, args := range map[string][]string{
		"url": {"--url", "ftp://x", "hi"}, "data": {"--data", "{", "hi"}, "flag": {"--nonsense"},
	} {
		c := chat(t, p.url(0, someone()), args...)
		if code := c.exit(t); code != 1 || c.stderr.String() == "" {
			t.Errorf("%s: exit code %d, want 1 and a sentence: %q", name, code, c.stderr)
		}
	}
}

func TestChatSaysWhyItCannotConnectAndGivesUp(t *testing.T) {
	t.Parallel()
	refusing := map[int]*httptest.Server{}
	for _, status := range []int{401, 403, 404, 503} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		refusing[status] = s
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	rows := map[string]string{gone.URL: "connection refused"}
	for status, s := range refusing {
		rows[s.URL] = fmt.Sprintf("HTTP %d", status)
	}
	for url, want := range rows {
		c := chat(t, url, "hi")
		if code := c.exit(t); code != 1 || !strings.Contains(c.stderr.String(), "cannot connect to "+url) || !strings.Contains(c.stderr.String(), want) {
			t.Errorf("%s: exit code %d\n%s", want, code, c.stderr)
		}
		if strings.Contains(c.stderr.String(), "goes on") {
			t.Errorf("nothing was sent:\n%s", c.stderr)
		}
	}
}

func TestChatJoinsWordsAndCompletesAddresses(t *testing.T) {
	p := at(t, oneNode)
	for _, scheme := range []string{"", "http://", "ws://"} {
		c := chat(t, scheme+p.nodes[0].addr, "--user", someone(), "hello", "wide", "world")
		if code := c.exit(t); code != 0 || !strings.Contains(c.stdout.String(), `You said: "hello wide world"`) {
			t.Errorf("%q: exit code %d, stdout %q\n%s", scheme, code, c.stdout, c.stderr)
		}
	}
}

func TestChatLinesAreMessagesOneAfterAnother(t *testing.T) {
	p := at(t, oneNode)
	wrong := chat(t, p.url(0, someone()))
	wrong.types("say this")
	wrong.sees(t, "You")
	wrong.types("/sotp")
	_ = wrong.in.Close()
	if code := wrong.exit(t); code != 1 || !strings.Contains(wrong.stderr.String(), "/stop") {
		t.Errorf("a mistyped command in a pipe: exit code %d, %q; want 1 and the nearest command", code, wrong.stderr)
	}
	if !strings.Contains(wrong.stdout.String(), "missed a word") {
		t.Errorf("a mistyped command ended the running turn's text: %q", wrong.stdout)
	}

	c := chat(t, p.url(0, someone()))
	for _, line := range []string{"first thing", "second thing"} {
		c.types(line)
	}
	_ = c.in.Close()
	if code := c.exit(t); code != 0 {
		t.Errorf("exit code %d:\n%s", code, c.stderr)
	}
	out := c.stdout.String()
	if first, second := strings.Index(out, "first thing"), strings.Index(out, "second thing"); first < 0 || second < first {
		t.Errorf("stdout %q", out)
	}
}
