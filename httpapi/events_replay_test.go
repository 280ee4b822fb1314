package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
)

func TestB1_B2_AStreamGetsEveryFrameInOrderAndOneThatComesBackGetsTheRest(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	for i, n := range nodes {
		thread := fmt.Sprint("t", i)
		adm := nodes[0].say(t, thread, `{"frames":60,"interval_ms":2}`)
		a := n.open(t, thread, "", "")
		h := a.headed()
		if h["status"] != "running" || h["replay_incomplete"] != true || h["epoch"] != adm.Epoch {
			t.Fatalf("header %v", h)
		}
		first := a.until("chunk")
		if first[0]["type"] != "turn_started" || first[0]["chat_seq"] != 1.0 {
			t.Fatalf("first frame %v", first[0])
		}
		a.close()
		b := nodes[1-i].open(t, thread, "follow=turn", a.r.LastEventID)
		if h := b.headed(); h["replay_incomplete"] != false || h["first_seq"] != float64(len(first)+1) && h["replay_count"] != 0.0 {
			t.Fatalf("header %v after %s", h, a.r.LastEventID)
		}
		rest := b.until("turn_finished")
		if rest[0]["chat_seq"] != float64(len(first)+1) || text(first)+text(rest) != chunks(60) {
			t.Fatalf("the rest begins with %v: %q", rest[0], text(first)+text(rest))
		}
		if end := b.ends("end"); end["thread_id"] != thread {
			t.Fatalf("end %v", end)
		}
	}
}

func TestACleanEndAndNoStreamForABrowserThatHasSeenIt(t *testing.T) {
	n := eventNodes(t, 1, quick())[0]
	n.say(t, "t", `{"frames":3}`)
	a := n.open(t, "t", "", "")
	a.headed()
	a.until("turn_finished")
	a.ends("end")
	again := get(t, http.DefaultClient, n.url+"/v1/threads/t/events?after=1&full=1", a.r.LastEventID)
	if again.StatusCode != http.StatusNoContent {
		t.Fatalf("again: %s", again.Status)
	}
	// The same position in the URL is a new stream, which says where it is.
	b := n.open(t, "t", "after="+a.r.LastEventID, "")
	if h := b.headed(); h["status"] != "finished" || h["replay_count"] != 0.0 || h["replay_incomplete"] != false {
		t.Fatalf("header %v", h)
	}
	b.ends("end")
	// Whoever stays sees the next turn, and the one after it.
	c := n.open(t, "t", "follow=thread", a.r.LastEventID)
	c.headed()
	for range 2 {
		n.say(t, "t", `{"frames":3}`)
		if got := text(c.until("turn_finished")); got != chunks(3) {
			t.Fatalf("text %q", got)
		}
	}
	// A replay of several turns ends with the last one.
	d := n.open(t, "t", "full=1", "")
	if h := d.headed(); h["replay_incomplete"] != false || h["first_seq"] != 1.0 {
		t.Fatalf("header %v", h)
	}
	for range 3 {
		d.until("turn_finished")
	}
	d.ends("end")
}

func TestAThreadThatNeverRanIsNotFoundUnlessTheClientWaitsForIt(t *testing.T) {
	n := eventNodes(t, 1, quick())[0]
	resp := get(t, http.DefaultClient, n.url+"/v1/threads/t/events", "")
	if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	s := n.open(t, "t", "follow=thread", "")
	if h := s.headed(); h["status"] != "unknown" || h["replay_incomplete"] != false {
		t.Fatalf("header %v", h)
	}
	n.say(t, "t", `{"frames":3}`)
	if got := text(s.until("turn_finished")); got != chunks(3) {
		t.Fatalf("text %q", got)
	}
	// Another user's thread is like none.
	other := get(t, http.DefaultClient, n.url+"/v1/threads/t/events?user=bob", "")
	if other.StatusCode != http.StatusNotFound {
		t.Fatalf("another user: %s", other.Status)
	}
}

func TestB6_ACursorThatTellsNothingIsAFreshClients(t *testing.T) {
	n := eventNodes(t, 1, quick())[0]
	adm := n.say(t, "t", `{"frames":5}`)
	n.open(t, "t", "", "").until("turn_finished")
	for _, id := range []string{adm.Epoch + ":100", "other:3", "100", "other:0"} {
		s := n.open(t, "t", "", id)
		h := s.headed()
		if h["replay_incomplete"] != true || h["replay_count"] == 0.0 {
			t.Fatalf("%s: header %v", id, h)
		}
		s.until("turn_finished")
		s.ends("end")
	}
}

func TestB8_AFreshClientGetsTheNewestTurnAndOlderOpenRequestsUnnumbered(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	nodes[0].say(t, "t", `{"frames":3}`)
	nodes[0].open(t, "t", "", "").until("turn_finished")
	nodes[0].say(t, "t", `{"frames":3,"approval":{"tool_name":"rm","at":2}}`)
	w := nodes[1].open(t, "t", "", "")
	w.headed()
	asked := w.until("tool_approval_request")
	if asked[0]["type"] != "turn_started" || asked[0]["chat_seq"] == 1.0 {
		t.Fatalf("a fresh client got %v first", asked[0])
	}
	// One that knows its epoch gets the open request again, without a number.
	b := nodes[0].open(t, "t", "", w.r.LastEventID)
	if h := b.headed(); h["replay_count"] != 0.0 {
		t.Fatalf("header %v", h)
	}
	e, f := b.next()
	if e.ID || f["type"] != "tool_approval_request" || f["replayed"] != true || f["approval_id"] != asked[len(asked)-1]["approval_id"] {
		t.Fatalf("got %+v", e)
	}
}

func TestB10_TwentyCutsAtRandomBytesOnAlternatingNodesLoseAndRepeatNothing(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	nodes[0].say(t, "t", `{"frames":800,"interval_ms":1,"bytes":40}`)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	last := ""
	var all []map[string]any
	for i := 0; ; i++ {
		left := 1 << 30
		if i < 20 {
			left = 700 + random.IntN(4000)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
				return &cutConn{Conn: c, left: left}, err
			}}}
		s := opened(t, get(t, client, nodes[i%2].url+"/v1/threads/t/events?after=0", last), last)
		for {
			e, f, err := s.read()
			if err != nil {
				break
			}
			if e.ID {
				all = append(all, f)
			}
			if e.Type == "end" {
				break
			}
		}
		s.close()
		last = s.r.LastEventID
		if len(all) > 0 && all[len(all)-1]["type"] == "turn_finished" {
			break
		}
	}
	stored := nodes[0].frames(t, "t")
	if len(all) != len(stored) {
		t.Fatalf("%d frames of %d", len(all), len(stored))
	}
	for i, f := range all {
		if f["chat_seq"] != float64(i+1) || f["type"] != stored[i].Type {
			t.Fatalf("frame %d is %v", i+1, f)
		}
	}
	var message struct{ Content string }
	if err := json.Unmarshal(stored[len(stored)-3].Frame, &message); err != nil || message.Content == "" || text(all) != message.Content {
		t.Fatalf("text of %d bytes, the agent said %d, %v", len(text(all)), len(message.Content), err)
	}
}

func TestB11_HeaderThenReplayThenLiveWhileTheAgentTalks(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	nodes[0].say(t, "t", `{"frames":1000,"interval_ms":1}`)
	for i := range 5 {
		s := nodes[i%2].open(t, "t", "", "")
		h := s.headed()
		if h["status"] != "running" {
			t.Fatalf("header %v", h)
		}
		first, last := 0.0, 0.0
		for last < h["last_seq"].(float64)+50 {
			_, f := s.next()
			seq := f["chat_seq"].(float64)
			if first == 0 {
				first = seq
			} else if seq != last+1 {
				t.Fatalf("%v after %v", seq, last)
			}
			last = seq
		}
		if first != h["first_seq"] || h["last_seq"].(float64)-first+1 != h["replay_count"] {
			t.Fatalf("first %v, header %v", first, h)
		}
		s.close()
	}
}

func TestB12_AFinishedTurnIsReplayedUntilItsRetentionIsOver(t *testing.T) {
	o := quick()
	o.Log.ReplayRetention = 1500 * time.Millisecond
	n := eventNodes(t, 1, o)[0]
	n.say(t, "t", `{"frames":3}`)
	finished := func() (status int) {
		resp := get(t, http.DefaultClient, n.url+"/v1/threads/t/events?after=0", "")
		defer resp.Body.Close()
		return resp.StatusCode
	}
	n.open(t, "t", "", "").until("turn_finished")
	end := time.Now()
	eventually(t, "retention", func() bool { return finished() == http.StatusNotFound })
	if over := time.Since(end); over > 6*time.Second {
		t.Fatalf("attaching prolonged the log: gone after %v", over)
	}
	waiting := n.open(t, "t", "follow=thread", "")
	if h := waiting.headed(); h["status"] != "unknown" {
		t.Fatalf("header %v", h)
	}
	messages, err := n.Log().Messages(t.Context(), eventlog.Thread{User: "1", ID: "t"}, 0, 10)
	if err != nil || len(messages) != 2 {
		t.Fatalf("history: %d messages, %v", len(messages), err)
	}
}

func TestB14_ALogTrimmedPastASlowStreamIsToldByANewHeader(t *testing.T) {
	o := quick()
	o.Log.ReplayMaxFrames = 200
	n := eventNodes(t, 1, o)[0]
	n.say(t, "t", `{"frames":2,"approval":{"tool_name":"go","at":2}}`)
	s := n.open(t, "t", "follow=thread", "")
	s.headed()
	s.until("tool_approval_request")
	// It takes nothing while turn after turn goes through the log.
	n.say(t, "t", `{"frames":3000,"bytes":6000}`)
	eventually(t, "the turn's end", func() bool { return n.looked(t, "t").Status == eventlog.StatusFinished })
	headers, last, promised := 0, 0.0, 0.0
	for {
		_, f := s.next()
		if f["type"] == "chat_resumed" {
			if f["replay_incomplete"] != true {
				t.Fatalf("header %v", f)
			}
			headers++
			last, promised = f["first_seq"].(float64)-1, f["last_seq"].(float64)
			continue
		}
		seq := f["chat_seq"].(float64)
		if last > 0 && seq != last+1 {
			t.Fatalf("a silent hole: %v after %v", seq, last)
		}
		last = seq
		if f["type"] == "turn_finished" && promised > 0 && seq >= promised {
			break
		}
	}
	if headers == 0 {
		t.Fatal("no new header")
	}
}

func TestB20_StreamsAndSocketsOfOneThreadSeeTheSame(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	var sockets []*socket
	for _, n := range nodes {
		w := n.socket(t)
		w.send(`{"command":"resume_chat","data":{"thread_id":"t"}}`)
		w.until("chat_resumed")
		sockets = append(sockets, w)
	}
	var streams []*sse
	for i := range 4 {
		streams = append(streams, nodes[i%2].open(t, "t", "follow=thread", ""))
	}
	wedged := nodes[0].open(t, "t", "follow=thread", "") // never read again
	defer wedged.close()
	nodes[0].say(t, "t", `{"frames":300,"interval_ms":1}`)
	streams[3].until("chunk")
	streams[3].close() // one that leaves changes nothing
	var want []string
	for i, w := range sockets {
		raw, _ := w.until("turn_finished")
		var got []string
		for _, m := range raw {
			if strings.Contains(m, `"chat_seq"`) {
				got = append(got, m)
			}
		}
		if i > 0 && strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatal("two sockets saw different things")
		}
		want = got
	}
	for i, s := range streams[:3] {
		s.headed()
		for _, line := range want {
			if e, _ := s.next(); e.Data != line {
				t.Fatalf("stream %d: %s, a socket got %s", i, e.Data, line)
			}
		}
	}
}
