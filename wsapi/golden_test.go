package wsapi_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"turnlog/wsapi"
)

var update = flag.Bool("update", false, "rewrite the golden transcripts in testdata")

// transcript records a conversation. What is minted anew in every run is
// replaced by a name that counts up: turn ids, epochs, request ids.
type transcript struct {
	t     *testing.T
	text  bytes.Buffer
	names map[string]string
	count map[string]int
}

var (
	minted = regexp.MustCompile(`"(turn_id|epoch|tool_call_id|approval_id|node)":"([^"]+)"`)
	times  = regexp.MustCompile(`"(server_time|grace_deadline)":"[^"]+"`)
	stamps = regexp.MustCompile(`"ts":\d+`)
)

// kinds names what is minted, by key.
var kinds = map[string]string{
	"turn_id": "turn", "epoch": "epoch", "node": "node", "tool_call_id": "request", "approval_id": "request",
}

func (tr *transcript) name(kind, value string) {
	if tr.names[value] == "" {
		tr.count[kind]++
		tr.names[value] = fmt.Sprintf("<%s %d>", kind, tr.count[kind])
	}
}

func (tr *transcript) line(who, direction, text string) {
	for _, m := range minted.FindAllStringSubmatch(text, -1) {
		tr.name(kinds[m[1]], m[2])
	}
	for value, name := range tr.names {
		text = strings.ReplaceAll(text, `"`+value+`"`, `"`+name+`"`)
	}
	text = times.ReplaceAllString(text, `"$1":"<time>"`)
	text = stamps.ReplaceAllString(text, `"ts":"<time>"`)
	fmt.Fprintf(&tr.text, "%s %s %s\n", who, direction, text)
}

// talker is a peer whose conversation is recorded.
type talker struct {
	*peer
	tr  *transcript
	who string
}

func (tr *transcript) dial(who, url string) *talker {
	tr.t.Helper()
	tk := &talker{dialRaw(tr.t, url, nil), tr, who}
	tk.hear("welcome")
	return tk
}

func (tk *talker) say(format string, args ...any) {
	tk.t.Helper()
	text := fmt.Sprintf(format, args...)
	tk.tr.line(tk.who, ">", text)
	tk.send("%s", text)
}

// hear records frames up to one of this type or with this message, and returns it.
func (tk *talker) hear(last string) map[string]any {
	tk.t.Helper()
	for {
		text := tk.text()
		tk.tr.line(tk.who, "<", text)
		if f := parse(tk.t, text); f["type"] == last || f["message"] == last || f["error"] == last {
			return f
		}
	}
}

func golden(t *testing.T, name string, talk func(tr *transcript, url string)) {
	t.Helper()
	tr := &transcript{t: t, names: make(map[string]string), count: make(map[string]int)}
	talk(tr, node(t, miniredis.RunT(t).Addr(), wsapi.Options{}))
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, tr.text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update to write it)", err)
	}
	if !bytes.Equal(want, tr.text.Bytes()) {
		t.Errorf("%s differs (run with -update and review):\n%s", path, firstDifference(string(want), tr.text.String()))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "", ""
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\nwant %s\n got %s", i+1, a, b)
		}
	}
	return ""
}

func TestGoldenTurnAndResume(t *testing.T) {
	golden(t, "turn_and_resume", func(tr *transcript, url string) {
		a := tr.dial("A", url)
		a.say(`{"command":"chat_message","request_id":"r1","data":{"thread_id":"t","content":"hello","demo":{"text":"one two three"}}}`)
		a.hear("turn_finished")
		b := tr.dial("B", url)
		b.say(`{"command":"resume_chat","request_id":"r2","data":{"thread_id":"t","last_seq":3}}`)
		b.hear("Chat resumed")
		b.say(`{"command":"resume_chat","request_id":"r3","data":{"thread_id":"t","last_seq":null}}`)
		b.hear("Chat resumed")
		b.say(`{"command":"resume_chat","request_id":"r4","data":{"thread_id":"other"}}`)
		b.hear("No chat turn to resume")
		b.say(`{"command":"list_chat_turns"}`)
		b.hear("Chat turns listed")
		b.say(`{"command":"unfollow","data":{"thread_id":"t"}}`)
		b.hear("Unfollowed")
	})
}

func TestGoldenToolCall(t *testing.T) {
	golden(t, "tool_call", func(tr *transcript, url string) {
		a := tr.dial("A", url)
		a.say(`{"type":"client_tools_manifest","tools":[{"name":"look","description":"","parameters":{}}]}`)
		a.say(`{"command":"chat_message","data":{"thread_id":"t","content":"look","demo":{"text":"one two","tool_call":{"name":"look","args":{"at":[]},"at":2}}}}`)
		call := a.hear("tool_call")["tool_call_id"]
		b := tr.dial("B", url)
		b.say(`{"command":"resume_chat","data":{"thread_id":"t"}}`)
		b.hear("Chat resumed")
		a.say(`{"type":"tool_result","tool_call_id":%q,"ok":true,"result":{"empty":[],"big":12345678901234567890}}`, call)
		a.hear("turn_finished")
		b.hear("turn_finished")
		c := tr.dial("C", url)
		c.say(`{"command":"resume_chat","data":{"thread_id":"t","full":true}}`)
		c.hear("Chat resumed")
	})
}

func TestGoldenStop(t *testing.T) {
	golden(t, "stop", func(tr *transcript, url string) {
		a := tr.dial("A", url)
		a.say(`{"command":"stop","data":{"thread_id":"t"}}`)
		a.hear("generation_stopped")
		a.say(`{"command":"chat_message","data":{"thread_id":"t","content":"go","on_disconnect":"preserve","demo":{"text":"one two","approval":{"tool_name":"rm","at":2}}}}`)
		a.hear("tool_approval_request")
		b := tr.dial("B", url)
		b.say(`{"command":"stop","request_id":1,"data":{"thread_id":"t"}}`)
		b.hear("generation_stopped")
		a.hear("turn_finished")
	})
}

func TestGoldenRefusals(t *testing.T) {
	golden(t, "refusals", func(tr *transcript, url string) {
		a := tr.dial("A", url)
		for _, command := range []string{
			`{"command":"chat_message","data":{"thread_id":"t"}}`,
			`{"command":"chat_message","data":{"content":"x"}}`,
			`{"command":"chat_message","data":{"thread_id":"t","content":"x","agent":"nobody"}}`,
			`{"command":"chat_message","data":{"thread_id":"t","content":"x","on_disconnect":"cancel","preserve_running_on_disconnect":true}}`,
		} {
			a.say("%s", command)
			a.hear("error")
		}
		a.say(`{"command":"dance","request_id":"d"}`)
		a.hear("Unknown command")
		a.say(`{"command":"set_permission_mode","data":{"thread_id":"t","permission_mode":"auto"}}`)
		a.say(`{"command":"set_policy","data":{"thread_id":"t","on_disconnect":"preserve","scope":"thread"}}`)
		a.say(`{"command":"set_mode","data":{"mode":"text"}}`)
		a.hear("Mode set to text")
	})
}
