package wsapi_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/coder/websocket"

	"turnlog/wsapi"
)

// msgpackr runs the independent peer. It fails, rather than skips, when the
// peer is not installed.
func msgpackr(t *testing.T, mode, input string) []string {
	t.Helper()
	dir := filepath.Join("testdata", "msgpackr")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "msgpackr")); err != nil {
		t.Fatal("msgpackr is not installed: run `make deps` (needs node and npm), or `npm ci` in wsapi/testdata/msgpackr")
	}
	cmd := exec.Command("node", "peer.mjs", mode)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node peer.mjs %s: %v\n%s", mode, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestB125_MessagesOfMsgpackrAreUnderstoodOrRefused(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := dial(t, url)
	want := map[string]string{
		"ping":             `"type":"pong","ts":1700000000000`,
		"undefined_values": `"message":"Stop command processed"`,
		"not_a_number":     `"last_seq":1,"replay_count":1,"replay_incomplete":true`,
		"infinite":         `"last_seq":1,"replay_count":1,"replay_incomplete":true`,
		"map16":            `"message":"Chat message processing started"`,
		"long_text":        `"type":"pong","ts":"éé`,
		"float":            `"last_seq":1,"replay_count":0`,
		"big":              `"last_seq":1`,
		"bigint":           `"last_seq":1`,
		"date":             `"type":"pong","ts":"1970-01-01T00:00:00Z"`,
		"nothing":          `"error":"invalid_frame"`,
	}
	rows := 0
	for _, line := range msgpackr(t, "encode", "") {
		name, text, _ := strings.Cut(line, " ")
		how, kind, _ := strings.Cut(name, "/")
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if how == "plain" && kind == "map16" && !bytes.Contains(b, []byte{0xde, 0x00}) {
			t.Errorf("%s has no map16 header: %x", name, b)
		}
		p.write(websocket.MessageBinary, b)
		first := ""
		if kind != "bytes" || how == "records" || how == "more" {
			first = p.text()
		}
		p.send(`{"type":"ping","ts":%q}`, name)
		for f := first; !strings.Contains(f, fmt.Sprintf(`"ts":%q`, name)); {
			f = p.text()
		}
		expect := want[kind]
		if how == "records" || how == "more" {
			if expect = `"error":"invalid_frame"`; !strings.Contains(first, expect) {
				t.Errorf("%s: %.200s", name, first)
			}
			continue
		}
		if !strings.Contains(first, expect) {
			t.Errorf("%s: got %.200s, want %s", name, first, expect)
		}
		// The next row starts from an idle thread.
		p.send(`{"command":"unfollow","data":{"thread_id":"t"}}`)
		p.want(`{"message":"Unfollowed","thread_id":"t"}`)
		w.mu.Lock()
		restart := len(w.stops) > 0
		w.stops = nil
		w.mu.Unlock()
		if restart {
			w.mu.Lock()
			clear(w.threads)
			w.mu.Unlock()
			w.begin("1", "t", "T")
		}
	}
	if rows != 48 {
		t.Fatalf("%d messages", rows)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.answers) == 0 || string(w.answers[0].Payload) != `{"ok":true,"result":"AQID"}` {
		t.Fatalf("answers %v", w.answers)
	}
}

func TestB125_ChatSeqIsAJavaScriptNumberInBothEncodings(t *testing.T) {
	url := node(t, miniredis.RunT(t).Addr(), wsapi.Options{})
	p := dialRaw(t, url+"?encoding=msgpack", nil)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","n":4294967296,"demo":{"frames":300}}}`)
	var lines []string
	for last := ""; !strings.Contains(last, "turn_finished"); {
		typ, b, err := p.raw()
		if err != nil || typ != websocket.MessageBinary {
			t.Fatal(typ, err)
		}
		last = string(b)
		lines = append(lines, hex.EncodeToString(b))
	}
	seq := 0.0
	for _, line := range msgpackr(t, "decode", strings.Join(lines, "\n")) {
		if strings.Contains(line, "BigInt:") {
			t.Fatalf("a BigInt: %s", line)
		}
		var f map[string]any
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if n, ok := f["chat_seq"]; ok {
			if seq++; n != seq {
				t.Fatalf("chat_seq %v, want %v", n, seq)
			}
		}
	}
	if seq < 303 {
		t.Fatalf("%v numbered frames", seq)
	}
}
