package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/client"
	"turnlog/identity"
	"turnlog/internal/netproxy"
)

// These run against real nodes; resume_test.go and offline_test.go have the same behaviours
// against a server that the test plays.

func TestB111_ATurnThatEndedAndExpiredWhileAwayIsInTheHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	reconciles := make(chan client.Reconcile, 16)
	see := newWitness()
	h, requests := gate(see)
	h.OnReconcile = func(r client.Reconcile) { reconciles <- r }
	c := w.dial(client.Options{Handler: h})
	const frames = 60
	p, err := c.Send("t", client.Message{Content: "go", Extra: script(frames, 1, gated)})
	turn := acked(t, p, err).TurnID
	request := await(t, requests, "the request")
	w.all((*netproxy.Proxy).Refuse)
	w.cut()
	seen := newWitness()
	direct := w.dialDirect(client.Options{Handler: seen.handler()})
	if err := direct.Open("t", client.OpenOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	if err := direct.Approve(request.ID, client.Allow); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the turn", func() bool { return seen.outcome(turn) == "completed" })
	w.redis.FastForward(6 * time.Minute) // replay.retention and more
	if !c.Thread("t").Busy {
		t.Error("idle before it can know")
	}
	w.all((*netproxy.Proxy).Resume)

	r := await(t, reconciles, "the wish for the history")
	if r.Status != client.StatusUnknown || r.ThreadID != "t" {
		t.Errorf("%+v", r)
	}
	until(t, "idle", func() bool { return !c.Thread("t").Busy })
	page, err := c.Messages(t.Context(), "t", "", 0)
	if err != nil || len(page.Messages) != 2 || page.Next != "" {
		t.Fatalf("%+v, %v", page, err)
	}
	m := page.Messages[1]
	if m.Role != "assistant" || !strings.HasSuffix(content(m), fmt.Sprint(frames, ": ")) || m.TurnID != turn || m.Seq < frames || m.Epoch == "" || m.Partial || !strings.Contains(string(m.Raw), `"role"`) {
		t.Errorf("%+v", m)
	}
}

// gated has a turn wait in its middle until somebody approves.
var gated = object{"approval": object{"tool_name": "go on", "at": 30}}

// gate is a handler that hands requests out.
func gate(see *witness) (client.Handler, <-chan client.Request) {
	requests := make(chan client.Request, 16)
	h := see.handler()
	h.OnRequest = func(r client.Request) { requests <- r }
	return h, requests
}

func TestMessagesPagesEscapesAndRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.dial(client.Options{})
	for _, thread := range []string{"a/b?c d#e", "..", "ünicode%2F"} {
		for range 4 {
			p, err := c.Send(thread, client.Message{Content: "x", Extra: script(1, 0, nil)})
			acked(t, p, err)
			until(t, "the end of the turn", func() bool { return !c.Thread(thread).Busy })
		}
		if got := w.messages(c, thread); len(got) != 8 || !slices.IsSortedFunc(got, func(a, b client.Entry) int { return int(a.Seq - b.Seq) }) {
			t.Errorf("%s: %d messages: %v", thread, len(got), got)
		}
	}
	if page, err := c.Messages(t.Context(), "never", "", 0); err != nil || len(page.Messages) != 0 {
		t.Errorf("a thread that never ran: %v, %v", page, err)
	}
	_, err := c.Messages(t.Context(), "..", "nonsense", 0)
	var refused *client.Refused
	if !errors.As(err, &refused) || refused.Code != "invalid_request" || refused.Retryable || refused.Message == "" {
		t.Errorf("a bad cursor: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Messages(ctx, "..", "", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestB112_TurnsThatRunAreFoundAndFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	h, requests := gate(newWitness())
	a := w.dial(client.Options{Handler: h})
	p, err := a.Send("t", client.Message{Content: "go", Extra: script(60, 1, gated)})
	turn := acked(t, p, err).TurnID
	request := await(t, requests, "the request")
	see := newWitness()
	w.dial(client.Options{Handler: see.handler(), Discover: true})
	until(t, "text, as the other client sees it", func() bool { return see.text(turn) != "" })
	if err := a.Approve(request.ID, client.Allow); err != nil {
		t.Fatal(err)
	}
	until(t, "its end, as the other client sees it", func() bool { return see.outcome(turn) == "completed" })
	if got := see.text(turn); !strings.HasPrefix(got, said(29)) || !strings.HasSuffix(got, "60: ") || len(see.wrong) > 0 {
		t.Errorf("%q, %v", got, see.wrong)
	}
}

// TestB114_AMessageWhoseAcknowledgementIsLostIsOneTurn cuts right behind the message, each time
// that it is sent, on its way to the node or on the way back.
func TestB114_AMessageWhoseAcknowledgementIsLostIsOneTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	see := newWitness()
	c := w.dial(client.Options{Handler: see.handler()})
	until(t, "online", func() bool { return see.connections() > 0 })
	var cuts atomic.Int32
	for i, verdict := range []netproxy.Verdict{netproxy.PassThenCut, netproxy.Cut} {
		cuts.Store(0)
		w.all(func(p *netproxy.Proxy) {
			p.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
				if piece.Dir == netproxy.ToClient && strings.Contains(string(piece.Data), `"message":"Chat message processing started"`) && cuts.Add(1) < 4 {
					return verdict
				}
				return netproxy.Pass
			})
		})
		p, err := c.Send("t", client.Message{Content: "go", OnBusy: "reject", Extra: script(20, 5, nil)})
		ack := acked(t, p, err)
		until(t, "the end", func() bool { return see.outcome(ack.TurnID) == "completed" })
		if cuts.Load() == 0 {
			t.Errorf("%d: nothing was cut", i)
		}
	}
	if got := w.messages(c, "t"); len(got) != 4 {
		t.Errorf("%d messages, want 4", len(got))
	}
}

func TestB114_WhatIsWrittenWhileTheNetworkRefusesComesOnceAndInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.all((*netproxy.Proxy).Refuse)
	see := newWitness()
	c := w.dial(client.Options{Handler: see.handler()})
	var all []*client.Pending
	for _, s := range []string{"a", "b", "c"} {
		p, err := c.Send("t", client.Message{Content: s, OnBusy: "enqueue", Extra: script(2, 1, nil)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if !c.Thread("t").Busy {
		t.Error("idle, with messages on their way")
	}
	w.all((*netproxy.Proxy).Resume)
	for _, p := range all {
		acked(t, p, nil)
	}
	until(t, "idle", func() bool { return !c.Thread("t").Busy })
	var users []string
	for _, m := range w.messages(c, "t") {
		if m.Role == "user" {
			users = append(users, content(m))
		}
	}
	if !slices.Equal(users, []string{"a", "b", "c"}) {
		t.Errorf("the user said %q", users)
	}
}

func TestB115_AToolRunsOnceWhileItsConnectionComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var runs atomic.Int32
	running, release := make(chan struct{}), make(chan struct{})
	tool := client.Tool{Name: "lookup", Run: func(context.Context, client.Call) (any, error) {
		if runs.Add(1) == 1 {
			close(running)
		}
		<-release
		return "42", nil
	}}
	see := newWitness()
	c := w.dial(client.Options{Handler: see.handler(), Tools: []client.Tool{tool}})
	p, err := c.Send("t", client.Message{Content: "go", Extra: script(2, 1, object{"tool_call": object{"name": "lookup", "args": object{}, "at": 2}})})
	turn := acked(t, p, err).TurnID
	await(t, running, "the tool")
	for range 3 { // while it runs
		before := see.connections()
		w.cut()
		until(t, "another connection", func() bool { return see.connections() > before && c.Thread("t").Busy })
	}
	// The answer is lost on its way, and then the acknowledgement of anything.
	var cuts atomic.Int32
	w.all(func(p *netproxy.Proxy) {
		p.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
			if piece.Dir == netproxy.ToClient && strings.Contains(string(piece.Data), `request_closed`) && cuts.Add(1) < 3 {
				return netproxy.Cut
			}
			return netproxy.Pass
		})
	})
	close(release)
	until(t, "the end", func() bool { return see.outcome(turn) == "completed" })
	if got, want := see.text(turn), `1: answer:{"ok":true,"result":"42"} 2: `; got != want || runs.Load() != 1 || len(see.wrong) > 0 {
		t.Errorf("%q after %d runs, want %q; %v", got, runs.Load(), want, see.wrong)
	}
}

func TestB114_AnApprovalThatIsGivenOfflineCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	see := newWitness()
	h, requests := gate(see)
	c := w.dial(client.Options{Handler: h})
	p, err := c.Send("t", client.Message{Content: "go", Extra: script(2, 1, object{"approval": object{"tool_name": "rm", "at": 1}})})
	turn := acked(t, p, err).TurnID
	r := await(t, requests, "the request")
	w.all((*netproxy.Proxy).Refuse)
	w.cut()
	until(t, "offline", func() bool { return see.losses() > 0 })
	if err := c.Approve(r.ID, client.Deny); err != nil {
		t.Fatal(err)
	}
	w.all((*netproxy.Proxy).Resume)
	until(t, "the end", func() bool { return see.outcome(turn) == "completed" })
	if got := see.text(turn); !strings.Contains(got, "deny") || strings.Count(got, "answer:") != 1 || len(requests) > 0 {
		t.Errorf("%q, %d more requests", got, len(requests))
	}
}

func TestB43_AStopThatIsSentAgainTouchesOnlyItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	see := newWitness()
	c := w.dial(client.Options{Handler: see.handler()})
	p, err := c.Send("t", client.Message{Content: "go", Extra: script(1000, 50, nil)})
	first := acked(t, p, err).TurnID
	until(t, "some text", func() bool { return see.text(first) != "" })
	// The stop arrives, its acknowledgement does not, and the network stays away.
	w.all(func(p *netproxy.Proxy) {
		p.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
			if piece.Dir == netproxy.ToClient && strings.Contains(string(piece.Data), `Stop command processed`) {
				w.all((*netproxy.Proxy).Refuse)
				return netproxy.Cut
			}
			return netproxy.Pass
		})
	})
	stop, err := c.Stop("t")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the loss", func() bool { return see.losses() > 0 })
	// Somebody else goes on meanwhile.
	seen := newWitness()
	other := w.dialDirect(client.Options{Handler: seen.handler()})
	if err := other.Open("t", client.OpenOptions{Full: true}); err != nil {
		t.Fatal(err)
	}
	until(t, "the stop", func() bool { return seen.outcome(first) == "stopped" })
	p, err = other.Send("t", client.Message{Content: "again", Extra: script(100, 10, nil)})
	second := acked(t, p, err).TurnID
	w.all(func(p *netproxy.Proxy) { p.SetFilter(nil); p.Resume() })
	acked(t, stop, nil)
	until(t, "the end of both", func() bool { return see.outcome(first) != "" && see.outcome(second) != "" })
	if see.outcome(first) != "stopped" || see.outcome(second) != "completed" || see.text(second) != said(100) {
		t.Errorf("%s and %s", see.outcome(first), see.outcome(second))
	}
}

func TestB66_ASteerIsHeardOnceOverLostConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	see := newWitness()
	h, requests := gate(see)
	c := w.dial(client.Options{Handler: h})
	p, err := c.Send("t", client.Message{Content: "go", Extra: script(60, 1, gated)})
	turn := acked(t, p, err).TurnID
	request := await(t, requests, "the request")
	var cuts atomic.Int32
	w.all(func(p *netproxy.Proxy) {
		p.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
			if piece.Dir == netproxy.ToClient && strings.Contains(string(piece.Data), `Steer accepted`) && cuts.Add(1) < 4 {
				return netproxy.Cut
			}
			return netproxy.Pass
		})
	})
	p, err = c.Steer("t", "left")
	acked(t, p, err)
	if err := c.Approve(request.ID, client.Allow); err != nil {
		t.Fatal(err)
	}
	until(t, "the end", func() bool { return see.outcome(turn) == "completed" })
	if got := strings.Count(see.text(turn), "steer:left "); got != 1 || cuts.Load() < 2 {
		t.Errorf("heard %d times over %d cuts", got, cuts.Load())
	}
}

func TestB116_ReauthKeepsOneConnectionOverManyTokens(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"extended": 6 * time.Second, "closed and made again": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := []byte("the secret of the tests, more than 32 bytes")
			auth, err := identity.NewJWT(identity.Options{Secret: secret, Leeway: -1})
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, auth)
			see := newWitness()
			var asked atomic.Int32
			c := w.dial(client.Options{Handler: see.handler(), ReauthBefore: before, Token: func(context.Context) (string, error) {
				asked.Add(1)
				now := time.Now()
				return identity.Mint(secret, identity.Grant{User: "ann", Issued: now.Add(-time.Minute), Expires: now.Add(8 * time.Second)})
			}})
			const frames = 1200
			p, err := c.Send("t", client.Message{Content: "go", Extra: script(frames, 10, nil)})
			turn := acked(t, p, err).TurnID
			until(t, "the end", func() bool { return see.outcome(turn) == "completed" })
			if got := see.text(turn); got != said(frames) || len(see.wrong) > 0 {
				t.Errorf("%q, %v", got, see.wrong)
			}
			if got := len(w.messages(c, "t")); got != 2 {
				t.Errorf("%d messages in the history", got)
			}
			if before > 0 && see.connections() != 1 || before < 0 && see.connections() < 2 || asked.Load() < 3 {
				t.Errorf("%d connections, %d tokens", see.connections(), asked.Load())
			}
		})
	}
}

func TestAHalfOpenConnectionIsReplacedInMidTurn(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*netproxy.Proxy){"half open": (*netproxy.Proxy).HalfOpen, "swallowed": (*netproxy.Proxy).BlackHole} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			see := newWitness()
			c := w.dial(client.Options{Handler: see.handler(), Silence: time.Second, DialTimeout: time.Second})
			p, err := c.Send("t", client.Message{Content: "go", Extra: script(150, 20, nil)})
			turn := acked(t, p, err).TurnID
			until(t, "some text", func() bool { return see.text(turn) != "" })
			w.all(fault)
			until(t, "that it is noticed", func() bool { return see.losses() > 0 })
			w.all((*netproxy.Proxy).Resume)
			until(t, "the end", func() bool { return see.outcome(turn) == "completed" })
			if got := see.text(turn); got != said(150) || len(see.wrong) > 0 {
				t.Errorf("%q, %v", got, see.wrong)
			}
		})
	}
}
