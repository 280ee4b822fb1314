package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"turnlog/client"
)

// clientViewer follows with the public client package, which connects to a random
// node each time.
type clientViewer struct {
	run     *run
	pen     *pen
	speaker *speaker
	silent  atomic.Bool
}

func (v *clientViewer) live(ctx context.Context) {
	transport := &http.Transport{DialContext: v.run.cluster.dial, DisableKeepAlives: true}
	var c *client.Client
	c, err := client.New("ws://nodes.localhost/ws", client.Options{
		User:       v.pen.plan.User,
		HTTPClient: &http.Client{Transport: transport},
		MaxDelay:   time.Second,
		Tools: []client.Tool{{Name: "lookup", Run: func(context.Context, client.Call) (any, error) {
			return toolAnswer, nil
		}}},
		Handler: client.Handler{
			OnRaw:    v.raw,
			OnHeader: func(h client.Header) { v.told(h) },
			OnFrame:  func(f client.Frame) { v.pen.told(f.Raw, time.Now()) },
			OnRequest: func(r client.Request) {
				if r.ThreadID == v.pen.plan.Thread && r.Type == "tool_approval_request" {
					_ = c.Approve(r.ID, client.Allow)
				}
			},
		},
	})
	if err != nil {
		v.run.fail(err)
		return
	}
	if err := c.Open(v.pen.plan.Thread, client.OpenOptions{}); err != nil {
		v.run.fail(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	spoken := make(chan struct{})
	go func() { defer close(spoken); v.speak(ctx, c) }()
	for _, l := range v.pen.plan.Lives {
		if !sleep(v.run.calm, l.Stay) {
			break
		}
		c.Drop(l.Away)
		sleep(v.run.calm, l.Away)
	}
	if err := <-ended; err != nil {
		v.run.fail(err)
	}
	<-spoken
	v.pen.closed()
}

// raw records a message; each connection begins with a welcome.
func (v *clientViewer) raw(message []byte) {
	var list []json.RawMessage
	if json.Unmarshal(message, &list) != nil { // not a batch
		list = []json.RawMessage{message}
	}
	for _, m := range list {
		if bytes.Contains(m, []byte(`"welcome"`)) {
			var w struct{ Type, Node string }
			if json.Unmarshal(m, &w) == nil && w.Type == "welcome" {
				v.pen.open(v.run.cluster.slotOf(w.Node))
				continue
			}
		}
		v.pen.received(m, time.Now())
	}
}

func (v *clientViewer) told(h client.Header) {
	b, err := json.Marshal(struct {
		Type string `json:"type"`
		client.Header
	}{"chat_resumed", h})
	if err == nil {
		v.pen.told(b, time.Now())
	}
}

func (v *clientViewer) speak(ctx context.Context, c *client.Client) {
	for {
		wait := v.speaker.wait()
		if wait < 0 {
			v.silent.Store(true)
			return
		}
		if !sleep(ctx, wait) {
			return
		}
		pending, err := v.say(c)
		if err != nil {
			v.run.fail(err)
			return
		}
		ack, err := pending.Wait(ctx)
		var refused *client.Refused
		switch {
		case err == nil:
			v.speaker.answered(answer{turn: ack.TurnID, queued: ack.Message == "Chat message queued"})
		case errors.As(err, &refused):
			v.speaker.answered(answer{failed: true, retryable: refused.Retryable})
			if refused.Retryable {
				sleep(ctx, 100*time.Millisecond)
			}
		default:
			return // the run is over
		}
	}
}

func (v *clientViewer) say(c *client.Client) (*client.Pending, error) {
	act, thread := v.speaker.acts[0], v.pen.plan.Thread
	name, data := v.speaker.command()
	switch name {
	case "stop":
		return c.Stop(thread)
	case "set_policy":
		return c.SetPolicy(thread, "preserve", "turn")
	case "steer":
		// The client mints the ids of steers, so this one is known by its text.
		return c.Steer(thread, data["content"].(string))
	}
	return c.Send(thread, client.Message{
		ID: act.ID, Content: data["content"], OnBusy: act.Busy, OnDisconnect: act.Policy, Extra: map[string]any{"demo": act.Script},
	})
}

func (v *clientViewer) quiet() bool { return v.silent.Load() }
