package wsapi_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/client"
)

// cutter passes TCP connections on to a server until they are cut, and makes no
// more until it is mended.
type cutter struct {
	mu     sync.Mutex
	conns  []net.Conn
	broken bool
}

func (c *cutter) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = false
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = true
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// cuttable puts a cutter in front of the server; it returns the ws:// address.
func cuttable(t *testing.T, url string) (string, *cutter) {
	t.Helper()
	c := &cutter{}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "ws://"), "/")
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", host)
			if err != nil {
				in.Close()
				continue
			}
			c.mu.Lock()
			broken := c.broken
			if broken {
				in.Close()
				out.Close()
			} else {
				c.conns = append(c.conns, in, out)
			}
			c.mu.Unlock()
			if broken {
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				running.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					way[0].Close()
					way[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		ln.Close()
		c.cut()
		running.Wait()
	})
	return "ws://" + ln.Addr().String() + "/" + path, c
}

func TestB113_AThreadFollowedBeforeItEverRanResumesCompletely(t *testing.T) {
	a, b := pair(t)
	url, line := cuttable(t, a)
	texts, finishes := make(chan string, 1000), make(chan client.Finish, 3)
	headers, reconciles := make(chan client.Header, 4), make(chan client.Reconcile, 4)
	c, err := client.New(url, client.Options{Handler: client.Handler{
		OnText:      func(_, text string) { texts <- text },
		OnFinish:    func(f client.Finish) { finishes <- f },
		OnHeader:    func(h client.Header) { headers <- h },
		OnReconcile: func(r client.Reconcile) { reconciles <- r },
	}})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(t.Context()) })
	t.Cleanup(running.Wait)
	got := func(what string, ch <-chan struct{}) {
		t.Helper()
		select {
		case <-ch:
		case <-time.After(patience):
			t.Fatalf("no %s", what)
		}
	}
	follow, err := c.Follow("t")
	if err != nil {
		t.Fatal(err)
	}
	got("acknowledgement", follow.Done())

	p := dial(t, b)
	say := func(id string, frames int, wait string) {
		p.send(`{"command":"chat_message","data":{"thread_id":"t","id":%q,"content":"x","on_disconnect":"preserve","demo":{"frames":%d,"interval_ms":%s}}}`, id, frames, wait)
	}
	all, want := "", ""
	read := func(frames int) {
		t.Helper()
		for range frames {
			select {
			case s := <-texts:
				all += s
			case <-time.After(patience):
				t.Fatalf("no text behind %q", all)
			}
		}
	}
	say("m1", 3, "0")
	read(3)
	ended := func() {
		t.Helper()
		select {
		case <-finishes:
		case <-time.After(patience):
			t.Fatal("the turn does not end")
		}
	}
	ended()
	say("m2", 30, "5")
	read(5)
	line.cut()
	third := func(f map[string]any) bool {
		message, _ := f["message"].(map[string]any)
		return f["type"] == "turn_started" && message["id"] == "m3"
	}
	p.until("end of the second turn", func(f map[string]any) bool { return f["type"] == "turn_finished" && f["chat_seq"].(float64) > 20 })
	say("m3", 30, "5")
	p.until("third turn", third) // a cursor in an older turn is complete only with its epoch
	line.mend()
	ended()
	ended()
	read(25 + 30)
	for _, n := range []int{3, 30, 30} {
		for i := 1; i <= n; i++ {
			want += fmt.Sprintf("%d: ", i)
		}
	}
	if all != want || len(texts) > 0 {
		t.Errorf("text of %d bytes, want %d, %d more", len(all), len(want), len(texts))
	}
	if len(reconciles) > 0 || len(headers) != 1 {
		t.Fatalf("%d reconciliations, %d headers", len(reconciles), len(headers))
	}
	if h := <-headers; h.ReplayIncomplete || h.Epoch == "" || c.Thread("t").Epoch != h.Epoch {
		t.Errorf("header %+v", h)
	}
}
