package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/httpapi/admin"
	"turnlog/internal/netproxy"
)

// running is a command that goes on until it is stopped.
type running struct {
	t        *testing.T
	out, err *syncBuffer
	stop     context.CancelFunc
	done     chan error
}

// start runs a command line until it ends by itself or is stopped.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, out: &syncBuffer{}, err: &syncBuffer{}, stop: cancel, done: make(chan error, 1)}
	root := newRootCommand()
	root.SetOut(r.out)
	root.SetErr(r.err)
	root.SetArgs(args)
	go func() { r.done <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			t.Logf("%q said\n%s\n%s", args, r.out, r.err)
		}
	})
	return r
}

// ends waits for the end and returns the exit code.
func (r *running) ends() int {
	r.t.Helper()
	var err error
	await(r.t, "the command ends", func() bool {
		select {
		case err = <-r.done:
			return true
		default:
			return false
		}
	})
	return exitCode(err)
}

func (r *running) shows(text string) {
	r.t.Helper()
	await(r.t, "the output shows "+text, func() bool { return strings.Contains(r.out.String(), text) })
}

func (r *running) notes(text string) {
	r.t.Helper()
	await(r.t, "stderr tells "+text, func() bool { return strings.Contains(r.err.String(), text) })
}

// exitCode is what main makes of an error.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return 1
}

// tailed reads --json lines and checks that the numbers from one on have no hole.
func tailed(t *testing.T, text string, from int64) (said string, frames []tailedFrame) {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		var f tailedFrame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if want := from + int64(len(frames)); f.ChatSeq != want {
			t.Fatalf("frame %d where %d was to come", f.ChatSeq, want)
		}
		frames = append(frames, f)
		var chunk struct{ Type, Content string }
		if json.Unmarshal(f.Frame.Frame, &chunk) == nil && chunk.Type == "chunk" {
			b.WriteString(chunk.Content)
		}
	}
	return b.String(), frames
}

func TestTailFollowsARunningTurnToItsEndAndTheNextOne(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(chatMessage("t1", 60, 10))
	c.until("a chunk", ofType("chunk"))
	tails := map[string]*running{
		"from redis":  start(t, "tail", "t1", "--since", "0", "--json", "--redis", url),
		"from a node": start(t, "tail", "t1", "--since", "0", "--json", "--url", "ws://"+n.addr+"/ws"),
	}
	till := start(t, "tail", "t1", "--until-end", "--redis", url)
	c.until("the end", ofType("turn_finished"))
	if code := till.ends(); code != 0 || !strings.Contains(till.out.String(), "turn_finished       completed") {
		t.Errorf("until the end: exit code %d, %s", code, till.out)
	}
	for name, r := range tails {
		r.shows(`"type":"turn_finished"`)
		said, frames := tailed(t, r.out.String(), 1)
		if said != count(60) || frames[0].TurnID == "" || frames[0].Epoch == "" || frames[0].Ordinal != 1 || frames[0].Type != "turn_started" {
			t.Errorf("%s: said %q, began with %+v", name, said, frames[0])
		}
	}
	c.send(chatMessage("t1", 1, 0)) // the same thread goes on
	for name, r := range tails {
		r.shows(`"ordinal":2,"type":"turn_finished"`)
		tailed(t, r.out.String(), 1)
		r.stop()
		if code := r.ends(); code != exitInterrupted || r.err.String() != "" {
			t.Errorf("%s: exit code %d, %s", name, code, r.err)
		}
	}
}

func TestTailIsNoViewer(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(`{"command":"chat_message","data":{"thread_id":"t1",` + waitingTurn + `}}`)
	c.until("the approval", ofType("tool_approval_request"))
	c.ws.CloseNow()
	detached := func() *listedTurn {
		turns := jsonOf[turnsReport](t, "turns", "--redis", url).Turns
		if len(turns) != 1 || turns[0].DetachedAt == nil {
			return nil
		}
		return &turns[0]
	}
	await(t, "the turn is detached", func() bool { return detached() != nil })
	before := *detached().GraceDeadline
	for _, where := range [][]string{{"--redis", url}, {"--url", "http://" + n.addr}} {
		r := start(t, append([]string{"tail", "t1"}, where...)...)
		r.shows("tool_approval_request")
		if now := detached(); now == nil || !now.GraceDeadline.Equal(before) {
			t.Errorf("%v: the turn is %+v, its grace ended at %s", where, now, before)
		}
		r.stop()
		r.ends()
	}
}

func TestTailOutlivesACutOfRedis(t *testing.T) {
	addr := startRedis(t)
	proxy, err := netproxy.Start(addr, netproxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	n := startNode(t, "--redis", "redis://"+addr)
	c := n.dial()
	c.send(chatMessage("t1", 300, 10))
	c.until("a chunk", ofType("chunk"))
	r := start(t, "tail", "t1", "--since", "0", "--json", "--until-end", "--redis", "redis://"+proxy.Addr(), "--redis.command_timeout", "2s")
	r.shows(`"chat_seq":3`)
	proxy.Refuse()
	proxy.Cut()
	r.notes("trying again")
	c.until("the end", ofType("turn_finished"))
	proxy.Resume()
	r.notes("back again")
	if code := r.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if said, _ := tailed(t, r.out.String(), 1); said != count(300) {
		t.Errorf("said %q", said)
	}
}

func TestTailOutlivesARestartOfItsNode(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	proxy, err := netproxy.Start(n.addr, netproxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	c := n.dial()
	c.send(chatMessage("t1", 3, 0))
	c.until("the end", ofType("turn_finished"))
	r := start(t, "tail", "t1", "--since", "0", "--json", "--url", proxy.Addr())
	r.shows(`"type":"turn_finished"`)
	proxy.Refuse()
	proxy.Cut()
	r.notes("no answer from http://" + proxy.Addr())
	c.send(chatMessage("t1", 3, 0))
	c.until("the end", ofType("turn_finished"))
	proxy.Resume()
	r.shows(`"ordinal":2,"type":"turn_finished"`)
	tailed(t, r.out.String(), 1)
}

// delete makes a plain DELETE.
func (n *testNode) delete(path string) {
	n.t.Helper()
	request, err := http.NewRequestWithContext(n.t.Context(), http.MethodDelete, "http://"+n.addr+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		n.t.Fatalf("DELETE %s: %s", path, response.Status)
	}
}

func TestTailEndsWithADeletedThread(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	for i, where := range [][]string{{"--redis", url}, {"--url", "http://" + n.addr}} {
		thread := "t" + strconv.Itoa(i)
		c := n.dial()
		c.send(chatMessage(thread, 10_000, 10))
		c.until("a chunk", ofType("chunk"))
		r := start(t, append([]string{"tail", thread}, where...)...)
		r.shows("chunk")
		n.delete("/v1/threads/" + thread)
		if code := r.ends(); code != 1 {
			t.Errorf("%v: exit code %d", where, code)
		}
		for _, args := range [][]string{{"tail", thread}, {"tail", thread, "--no-follow"}} {
			_, err := runCommand(t, append(args, where...)...)
			if err == nil || !strings.Contains(err.Error(), "deleted at") {
				t.Errorf("%v %v: %v", where, args, err)
			}
		}
	}
}

func TestTailBeginsWhereItIsTold(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url, "--replay.max_frames", "20")
	c := n.dial()
	c.send(chatMessage("t1", 100, 0))
	c.until("the end", ofType("turn_finished"))
	out := jsonOf[admin.Thread](t, "inspect", "t1", "--redis", url)
	first, last := out.Log.FirstSeq, out.Log.LastSeq
	if first < 2 || last < 100 {
		t.Fatalf("frames %d to %d", first, last)
	}
	for _, row := range []struct {
		name   string
		args   []string
		from   int64
		frames int64
		says   string
	}{
		{"the newest ten", nil, last - 9, 10, ""},
		{"behind one", []string{"--since", strconv.FormatInt(last-2, 10)}, last - 1, 2, ""},
		{"everything", []string{"--since", "0"}, first, last - first + 1, "frames 1 to " + strconv.FormatInt(first-1, 10) + " are no longer held"},
		{"beyond the end", []string{"--since", "5000"}, 1, 0, "the log ends at frame " + strconv.FormatInt(last, 10)},
	} {
		r := start(t, append([]string{"tail", "t1", "--json", "--no-follow", "--redis", url}, row.args...)...)
		if code := r.ends(); code != 0 {
			t.Errorf("%s: exit code %d", row.name, code)
		}
		if _, frames := tailed(t, r.out.String(), row.from); int64(len(frames)) != row.frames || !strings.Contains(r.err.String(), row.says) {
			t.Errorf("%s: %d frames, %s", row.name, len(frames), r.err)
		}
	}
}

func TestTailsExitCodeTellsHowTheTurnEnded(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(chatMessage("t1", 10_000, 10))
	c.until("a chunk", ofType("chunk"))
	r := start(t, "tail", "t1", "--until-end", "--redis", url)
	r.shows("chunk")
	c.send(`{"command":"stop","data":{"thread_id":"t1"}}`)
	if code := r.ends(); code != 2 {
		t.Errorf("exit code %d", code)
	}
	if out, err := runCommand(t, "tail", "t1", "--until-end", "--redis", url); exitCode(err) != 2 || !strings.Contains(out, "stopped") {
		t.Errorf("of a turn that has ended: %v, %s", err, out)
	}
}

func TestTailEndsWithAThreadThatRedisForgot(t *testing.T) {
	addr := startRedis(t)
	n := startNode(t, "--redis", "redis://"+addr)
	c := n.dial()
	c.send(chatMessage("t1", 3, 0))
	c.until("the end", ofType("turn_finished"))
	r := start(t, "tail", "t1", "--since", "0", "--redis", "redis://"+addr)
	r.shows("turn_finished")
	keys, err := eventlog.DescribeKeys(eventlog.Thread{User: "1", ID: "t1"}, 64)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	for _, k := range keys { // Redis forgets the thread
		if strings.HasPrefix(k.Key, "T:") {
			rdb.Del(t.Context(), k.Name)
		}
	}
	if code := r.ends(); code != 1 {
		t.Errorf("exit code %d of a thread that is gone", code)
	}
}

func TestTailRefusesClearly(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no thread", nil, "wants one thread, not 0"},
		{"two threads", []string{"a", "b"}, "not 2 words"},
		{"nobody knows it", []string{"nope", "--redis", url}, "user 1 has no thread nope"},
		{"a node does not know it", []string{"nope", "--url", n.addr}, "user 1 has no thread nope"},
		{"impossible", []string{strings.Repeat("x", 300), "--redis", url}, "longer than 256"},
		{"nowhere", []string{"t1"}, "--url http://127.0.0.1:8080"},
		{"two places", []string{"t1", "--url", n.addr, "--redis", url}, "give one of them"},
		{"no node", []string{"t1", "--url", "ftp://x"}, "scheme"},
		{"nobody there", []string{"t1", "--url", "127.0.0.1:" + strconv.Itoa(freePort(t))}, "no answer from"},
		{"both ends", []string{"t1", "--no-follow", "--until-end"}, "give one of them"},
		{"no number", []string{"t1", "--since", "-3", "--redis", url}, "--since wants"},
		{"no colour", []string{"t1", "--color", "pink"}, "auto, always, never"},
	} {
		_, err := runCommand(t, append([]string{"tail"}, row.args...)...)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v does not mention %q", row.name, err, row.want)
		}
	}
}
