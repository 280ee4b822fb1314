package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// testNode is a node running in this process.
type testNode struct {
	t       *testing.T
	addr    string
	log     *syncBuffer
	signals chan os.Signal
	done    chan error
}

var listening = regexp.MustCompile(`msg=listening addr=(\S+)`)

// startNode runs serve on a free port with these arguments.
func startNode(t *testing.T, args ...string) *testNode {
	t.Helper()
	config, err := loadWith(t, append([]string{"--listen", "127.0.0.1:0", "--drain.close_spread", "0s"}, args...), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{t: t, log: &syncBuffer{}, signals: make(chan os.Signal, 2), done: make(chan error, 1)}
	go func() { n.done <- serve(context.Background(), config.Config, newLogger(n.log, config.Log), n.signals) }()
	t.Cleanup(func() {
		n.signals <- syscall.SIGTERM
		n.signals <- syscall.SIGTERM
		if err := <-n.done; err != nil {
			t.Errorf("serve ended with %v", err)
		}
		if t.Failed() {
			t.Logf("log of the node:\n%s", n.log)
		}
	})
	await(t, "the node listens", func() bool {
		select {
		case err := <-n.done:
			n.done <- err
			t.Fatalf("serve ended at start: %v\n%s", err, n.log)
		default:
		}
		return listening.MatchString(n.log.String())
	})
	n.addr = listening.FindStringSubmatch(n.log.String())[1]
	return n
}

// get returns status and body of a plain request.
func (n *testNode) get(path string) (int, string) {
	n.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + n.addr + path)
	if err != nil {
		n.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// testConn is a WebSocket client that speaks bare JSON.
type testConn struct {
	t  *testing.T
	ws *websocket.Conn
}

func (n *testNode) dial() *testConn {
	n.t.Helper()
	return n.dialAs("")
}

// dialAs connects with a query like ?client=web.
func (n *testNode) dialAs(query string) *testConn {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://"+n.addr+"/ws"+query, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	ws.SetReadLimit(16 << 20)
	n.t.Cleanup(func() { ws.CloseNow() })
	return &testConn{n.t, ws}
}

func (c *testConn) send(message string) {
	c.t.Helper()
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the next message, or the close error.
func (c *testConn) read() (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, raw, err := c.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	var message map[string]any
	return message, json.Unmarshal(raw, &message)
}

// until reads up to the first message for which found holds, and returns all.
func (c *testConn) until(what string, found func(map[string]any) bool) []map[string]any {
	c.t.Helper()
	var seen []map[string]any
	for {
		message, err := c.read()
		if err != nil {
			c.t.Fatalf("waiting for %s: %v after %v", what, err, seen)
		}
		seen = append(seen, message)
		if found(message) {
			return seen
		}
	}
}

func ofType(name string) func(map[string]any) bool {
	return func(m map[string]any) bool { return m["type"] == name }
}

// text joins the chunks and checks that numbers rise by one.
func text(t *testing.T, messages []map[string]any, after float64) (string, float64) {
	t.Helper()
	var b strings.Builder
	for _, m := range messages {
		seq, numbered := m["chat_seq"].(float64)
		if !numbered {
			continue
		}
		if seq != after+1 {
			t.Fatalf("frame %v follows frame %v", seq, after)
		}
		after = seq
		if m["type"] == "chunk" {
			b.WriteString(m["content"].(string))
		}
	}
	return b.String(), after
}

// count is the demo agent's text of n chunks.
func count(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i+1) + ": ")
	}
	return b.String()
}

// chatMessage is a chat_message to the demo agent.
func chatMessage(thread string, frames, interval int) string {
	return `{"command":"chat_message","data":{"thread_id":"` + thread + `","content":"go","demo":{"frames":` +
		strconv.Itoa(frames) + `,"interval_ms":` + strconv.Itoa(interval) + `}}}`
}

func TestB2_TurnGoesOnWithoutItsConnection(t *testing.T) {
	addr := startRedis(t)
	nodes := map[string][]*testNode{"embedded": {startNode(t)}}
	nodes["two nodes"] = []*testNode{startNode(t, "--redis", "redis://"+addr), startNode(t, "--redis", "redis://"+addr)}
	for name, group := range nodes {
		t.Run(name, func(t *testing.T) {
			first := group[0].dial()
			first.send(chatMessage("t1", 40, 10))
			seen := first.until("chunk 5", func(m map[string]any) bool { return m["content"] == "5: " })
			head, last := text(t, seen, 0)
			first.ws.CloseNow()

			second := group[len(group)-1].dial()
			second.send(`{"command":"resume_chat","data":{"thread_id":"t1","last_seq":` + strconv.Itoa(int(last)) + `}}`)
			seen = second.until("the end", ofType("turn_finished"))
			tail, _ := text(t, seen, last)
			if head+tail != count(40) {
				t.Fatalf("got %q, want %q", head+tail, count(40))
			}
		})
	}
}

func TestB12_EmbeddedRedisForgetsFinishedTurns(t *testing.T) {
	n := startNode(t, "--replay.retention", "1s")
	c := n.dial()
	c.send(chatMessage("t1", 2, 0))
	c.until("the end", ofType("turn_finished"))
	await(t, "the log expires", func() bool {
		c.send(`{"command":"resume_chat","data":{"thread_id":"t1","epoch":"?"}}`)
		seen := c.until("a header", ofType("chat_resumed"))
		return seen[len(seen)-1]["status"] == "unknown"
	})
	c.send(chatMessage("t1", 1, 0))
	seen := c.until("the next turn", ofType("turn_started"))
	if seq := seen[len(seen)-1]["chat_seq"].(float64); seq < 6 {
		t.Fatalf("numbering began again at %v", seq)
	}
}

func TestB87_SignalDrainsTheNode(t *testing.T) {
	n := startNode(t)
	busy, idle := n.dial(), n.dial()
	busy.send(chatMessage("t1", 100_000, 20))
	busy.until("a chunk", ofType("chunk"))
	idle.until("the greeting", ofType("welcome"))

	n.signals <- syscall.SIGTERM
	await(t, "readiness goes down", func() bool { status, _ := n.get("/readyz"); return status == 503 })
	if status, _ := n.get("/healthz"); status != 200 {
		t.Errorf("healthz answers %d while draining", status)
	}
	for _, c := range []*testConn{idle, busy} {
		for {
			_, err := c.read()
			if err == nil {
				continue
			}
			if code := websocket.CloseStatus(err); code != websocket.StatusServiceRestart {
				t.Errorf("closed with %d (%v), want 1012", code, err)
			}
			break
		}
	}
	ws, response, err := websocket.Dial(t.Context(), "ws://"+n.addr+"/ws", nil)
	if err == nil {
		ws.CloseNow()
		t.Error("a draining node accepted a connection")
	} else if response == nil || response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
		t.Errorf("refused with %v", err)
	}
	if strings.Contains(n.log.String(), "msg=stopped") {
		t.Error("the running turn was not waited for")
	}
	n.signals <- syscall.SIGTERM
	await(t, "the second signal ends the wait", func() bool { return strings.Contains(n.log.String(), "msg=stopped") })
}

func TestSignalWhileWaitingForRedisEndsQuietly(t *testing.T) {
	config, err := loadWith(t, []string{"--listen", "127.0.0.1:0", "--redis", "redis://127.0.0.1:" + strconv.Itoa(freePort(t))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log, signals, done := &syncBuffer{}, make(chan os.Signal, 2), make(chan error, 1)
	go func() { done <- serve(context.Background(), config.Config, newLogger(log, config.Log), signals) }()
	await(t, "a progress line", func() bool { return strings.Contains(log.String(), "waiting for redis") })
	signals <- syscall.SIGINT
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestServeRefusesClearly(t *testing.T) {
	addr := startRedis(t)
	taken := startNode(t, "--redis", "redis://"+addr)
	rows := []struct {
		name string
		args []string
		want []string
	}{
		{"port in use", []string{"--listen", taken.addr}, []string{"listen", taken.addr, "--listen"}},
		{"other partitions", []string{"--listen", "127.0.0.1:0", "--redis", "redis://" + addr, "--partitions", "8"}, []string{"64 partitions", "8"}},
		{"program that is not there", []string{"--listen", "127.0.0.1:0", "--agent", "command", "--", "no-such-program"}, []string{"agent", "no-such-program"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			config, err := loadWith(t, row.args, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = serve(t.Context(), config.Config, newLogger(io.Discard, config.Log), make(chan os.Signal))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
		})
	}
}

func TestCommandAgentSpeaks(t *testing.T) {
	n := startNode(t, "--agent", "command", "--agent.stdin", "text", "--", "tr", "a-z", "A-Z")
	c := n.dial()
	c.send(`{"command":"chat_message","data":{"thread_id":"t1","content":"loud, please"}}`)
	said, _ := text(t, c.until("the end", ofType("turn_finished")), 0)
	if !strings.Contains(said, "LOUD, PLEASE") {
		t.Fatalf("it said %q", said)
	}
}
