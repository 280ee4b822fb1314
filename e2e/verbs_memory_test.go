package e2e_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"turnlog/e2e/wire"
)

// memory lets the server have so much, which it refuses to exceed.
func (r *redisServer) memory(t testing.TB, limit string) {
	t.Helper()
	ctx := context.Background()
	for name, value := range map[string]string{"maxmemory-policy": "noeviction", "maxmemory": limit} {
		if err := r.own.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// forget removes a key of a thread, as an eviction would.
func (r *redisServer) forget(t testing.TB, user, thread, part string) {
	t.Helper()
	ctx := context.Background()
	keys, err := r.own.Keys(ctx, "turnlog:{*}:"+user+"/"+thread+":"+part).Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("%s of %s: %v, %v", part, thread, keys, err)
	}
	if err := r.own.Del(ctx, keys...).Err(); err != nil {
		t.Fatal(err)
	}
}

const endlessly = 100_000 // frames

func TestB106_AFullRedisIsToldThroughEveryDoorAndRunningTurnsWait(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick()...)
	user := someone()
	v := dial(t, p.url(0, user))
	api := asker{t: t, node: p.nodes[1]}
	const who = "?user="
	v.say("waits", object{"frames": endlessly, "interval_ms": 20}, object{"on_disconnect": "preserve"})
	stopped := v.say("stops", object{"frames": endlessly, "interval_ms": 20}, object{"on_disconnect": "preserve"})
	waits := p.events(t, 1, user, "waits", "after=0", "", -1)
	stops := p.events(t, 1, user, "stops", "after=0", "", -1)
	frames := waits.until("chunk")
	stops.until("chunk")

	p.redis.memory(t, "1")
	ack := v.do("chat_message", message("new", object{"frames": 1}))
	if ack.Str("code") != "unavailable" || !ack.Bool("retryable") {
		t.Errorf("a turn over the socket: %s", ack)
	}
	for _, call := range [][3]string{
		{"POST", "/v1/threads/new/turns", `{"content":"x"}`},
		{"POST", "/v1/threads/waits/turns", `{"content":"x","on_busy":"enqueue"}`},
		{"PUT", "/v1/threads/new", `{"title":"x"}`},
	} {
		if got := api.ask(call[0], call[1]+who+user, call[2]); got.status != 503 || !strings.Contains(got.body, `"code":"unavailable"`) || !strings.Contains(got.header, "Retry-After: ") {
			t.Errorf("%s %s: %+v", call[0], call[1], got)
		}
	}
	if got := api.ask("GET", "/v1/threads/new"+who+user, ""); got.status != 404 {
		t.Errorf("what was refused is there: %+v", got)
	}
	if got := api.ask("GET", "/v1/threads/waits/frames"+who+user, ""); got.status != 200 { // reading needs no room
		t.Errorf("frames: %+v", got)
	}

	// What runs can be ended, and its viewers see it.
	if got := api.ask("POST", "/v1/threads/stops/stop"+who+user, ""); got.status != 200 || !strings.Contains(got.body, stopped.Turn) {
		t.Errorf("stop: %+v", got)
	}
	if end := v.end("stops", stopped.Turn); end.Str("outcome") != "stopped" {
		t.Errorf("the socket sees %s", end)
	}
	if all := stops.until("turn_finished"); all[len(all)-1]["outcome"] != "stopped" {
		t.Errorf("the stream sees %v", all[len(all)-1])
	}

	p.redis.memory(t, "0")
	v.say("new", object{"frames": 1})
	v.end("new", "")
	if got := api.ask("POST", "/v1/threads/waits/stop"+who+user, ""); got.status != 200 {
		t.Errorf("stop: %+v", got)
	}
	frames = append(frames, waits.until("turn_finished")...)
	streamed(t, frames) // no number is missing
	v.end("waits", "")
}

func TestB106_ATurnThatWaitsTooLongForMemoryFails(t *testing.T) {
	t.Parallel()
	p := own(t, oneNode, quick("--redis.command_timeout", "500ms", "--redis.outage_budget", "1s")...)
	user := someone()
	v := dial(t, p.url(0, user))
	v.say("t", object{"frames": endlessly, "interval_ms": 20}, object{"on_disconnect": "preserve"})
	s := p.events(t, 0, user, "t", "after=0", "", -1)
	s.until("chunk")
	p.redis.memory(t, "1")
	if end := v.end("t", ""); end.Str("outcome") != "failed" {
		t.Errorf("the socket sees %s", end)
	}
	if all := s.until("turn_finished"); all[len(all)-1]["outcome"] != "failed" {
		t.Errorf("the stream sees %v", all[len(all)-1])
	}
	got := asker{t: t, node: p.nodes[0]}.ask("GET", "/v1/threads/t?user="+user, "")
	if got.status != 200 || !strings.Contains(got.body, `"outcome":"failed"`) {
		t.Errorf("the API says %+v", got)
	}
}

func TestB106_WhatWasEvictedIsIncompleteThroughEveryDoor(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick()...)
	user := someone()
	v := dial(t, p.url(0, user))
	api := asker{t: t, node: p.nodes[1]}
	page := func() (page struct {
		Epoch      string
		Incomplete bool
	}) {
		t.Helper()
		got := api.ask("GET", "/v1/threads/t/frames?user="+user, "")
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != 200 {
			t.Fatalf("%+v: %v", got, err)
		}
		return page
	}
	ack := v.say("t", object{"frames": 60, "interval_ms": 50}, object{"on_disconnect": "preserve"})
	epoch := ack.Str("epoch")
	v.seq("t", 10)

	// The log of a running turn: what it held is known to be missing, the numbers go on.
	p.redis.forget(t, user, "t", "log")
	b := dial(t, p.url(1, user))
	b.resume("t", object{"last_seq": 3, "epoch": epoch})
	if h := b.header("t"); !h.Bool("replay_incomplete") || h.Str("epoch") != epoch {
		t.Errorf("the socket sees %s", h)
	}
	s := p.events(t, 1, user, "t", "", epoch+":3", -1)
	if h := s.header(); h["replay_incomplete"] != true || h["epoch"] != epoch {
		t.Errorf("the stream sees %v", h)
	}
	if got := page(); !got.Incomplete || got.Epoch != epoch {
		t.Errorf("the API says %+v", got)
	}
	end := v.end("t", ack.Turn)
	if all := s.until("turn_finished"); all[len(all)-1]["outcome"] != "completed" || all[len(all)-1]["chat_seq"] != float64(end.Seq) {
		t.Errorf("the stream ends with %v, the socket with %s", all[len(all)-1], end)
	}
	b.end("t", ack.Turn)
	second := end.Seq

	// The state: nobody knows the numbers, so they begin anew above all that is held.
	v.ok("unfollow", object{"thread_id": "t"})
	b.ok("unfollow", object{"thread_id": "t"})
	p.redis.forget(t, user, "t", "state")
	third := v.say("t", object{"frames": 5})
	first := v.await("t", "turn_started", func(m wire.Message) bool { return m.Type == "turn_started" && m.Turn == third.Turn })
	if third.Str("epoch") == epoch || first.Seq <= second {
		t.Errorf("begins at %d behind %d, %s", first.Seq, second, third)
	}
	v.end("t", third.Turn)
	late := dial(t, p.url(1, user))
	late.resume("t", object{"last_seq": 3, "epoch": epoch})
	if h := late.header("t"); !h.Bool("replay_incomplete") || h.Str("epoch") != third.Str("epoch") {
		t.Errorf("the socket sees %s", h)
	}
	if h := p.events(t, 1, user, "t", "", epoch+":3", -1).header(); h["replay_incomplete"] != true || h["epoch"] != third.Str("epoch") {
		t.Errorf("the stream sees %v", h)
	}
	if got := api.ask("GET", "/v1/threads/t/frames?after=3&epoch="+epoch+"&user="+user, ""); !strings.Contains(got.body, `"incomplete":true`) {
		t.Errorf("the API says %+v", got)
	}
}
