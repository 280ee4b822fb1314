package client_test

import (
	"strings"
	"testing"

	"turnlog/client"
)

// begin connects a client, sends a message on t1 and starts its turn.
func begin(t *testing.T, s *fakeServer, o client.Options) (*client.Client, *fakeConn) {
	t.Helper()
	c := start(t, s.url, o)
	conn := s.next()
	if len(o.Tools) > 0 {
		conn.want(object{"type": "client_tools_manifest"})
	}
	if _, err := c.Send("t1", client.Message{Content: "hi"}); err != nil {
		t.Fatal(err)
	}
	conn.accept(conn.want(object{"command": "chat_message"}), "turn-1", nil)
	conn.send(started(1))
	return c, conn
}

func (e *events) wantText(t *testing.T, want string) {
	t.Helper()
	var got strings.Builder
	for got.Len() < len(want) {
		got.WriteString(await(t, e.text, "text "+want))
	}
	if got.String() != want {
		t.Fatalf("text %q, want %q", got.String(), want)
	}
}

func TestB110_CursorSentForEveryThreadInFlightAfterTheManifest(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	tool := client.Tool{Name: "clock", Run: noTool}
	c, conn := begin(t, s, client.Options{Handler: h, Tools: []client.Tool{tool}})
	if _, err := c.Send("t2", client.Message{Content: "over soon"}); err != nil {
		t.Fatal(err)
	}
	conn.accept(conn.want(object{"command": "chat_message"}), "turn-2", nil)
	conn.send(
		object{"type": "turn_started", "thread_id": "t2", "turn_id": "turn-2", "chat_seq": 1, "attempt": 1},
		object{"type": "turn_finished", "thread_id": "t2", "turn_id": "turn-2", "chat_seq": 2, "outcome": "completed"},
	)
	conn.send(chunk(2, "a"), chunk(3, "b"))
	e.wantText(t, "ab")
	conn.cut()

	conn = s.next()
	conn.want(object{"type": "client_tools_manifest"})
	r := conn.want(object{"command": "resume_chat", "data": object{"thread_id": "t1", "last_seq": 3, "epoch": "e1"}})
	conn.quiet() // t2 is idle
	conn.resume(r, object{"last_seq": 5, "first_seq": 4}, chunk(4, "c"), chunk(5, "d"))
	e.wantText(t, "cd")
	if got := await(t, e.resumed, "resumed"); got.Replayed != 2 || got.Incomplete {
		t.Fatalf("resumed %+v, want 2 frames, complete", got)
	}
}

func TestB111_HeadersDecideStateAndReconciliation(t *testing.T) {
	for _, row := range []struct {
		name      string
		header    object
		reconcile bool
		busy      bool
	}{
		{"unknown", object{"status": "unknown", "epoch": ""}, true, false},
		{"incomplete and running", object{"replay_incomplete": true, "last_seq": 9}, true, true},
		{"incomplete and finished", object{"status": "finished", "replay_incomplete": true, "last_seq": 9}, true, false},
		{"complete and running", object{"last_seq": 2}, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newFakeServer(t)
			e, h := newEvents()
			c, conn := begin(t, s, client.Options{Handler: h})
			conn.send(chunk(2, "a"))
			e.wantText(t, "a")
			conn.cut()
			conn = s.next()
			conn.resume(conn.want(object{"command": "resume_chat"}), row.header)
			await(t, e.resumed, "resumed")
			conn.quiet()
			if got := c.Thread("t1").Busy; got != row.busy {
				t.Errorf("busy = %v, want %v", got, row.busy)
			}
			if got := len(e.reconciles) > 0; got != row.reconcile {
				t.Errorf("reconcile = %v, want %v", got, row.reconcile)
			}
		})
	}
	t.Run("complete, the frames end it", func(t *testing.T) {
		s := newFakeServer(t)
		e, h := newEvents()
		c, conn := begin(t, s, client.Options{Handler: h})
		await(t, e.frames, "turn_started")
		conn.cut()
		conn = s.next()
		conn.resume(conn.want(object{"command": "resume_chat"}),
			object{"status": "finished", "last_seq": 3, "first_seq": 2}, chunk(2, "x"), finished(3))
		if got := await(t, e.finishes, "finish"); got.Outcome != "completed" {
			t.Errorf("outcome %q", got.Outcome)
		}
		conn.quiet()
		if c.Thread("t1").Busy || len(e.reconciles) > 0 {
			t.Errorf("busy %v, %d reconciliations; want idle and none", c.Thread("t1").Busy, len(e.reconciles))
		}
	})
}

func TestB112_ActiveTurnsAreResumedOnlyOnIdleThreads(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	_, conn := begin(t, s, client.Options{Handler: h})
	await(t, e.busy, "busy")
	active := func(id string) object {
		return object{"type": "chat_turn_active", "thread_id": id, "status": "running", "last_seq": 7, "turn_id": "x", "detached": true}
	}
	conn.send(active("t1")) // busy: nothing
	conn.quiet()
	conn.send(active("t9")) // idle: busy and resume
	conn.want(object{"command": "resume_chat", "data": object{"thread_id": "t9", "last_seq": 0}})
	if !await(t, e.busy, "busy t9") {
		t.Error("t9 is idle, want busy")
	}
	conn.send(active("t9"))
	conn.quiet()
}

func TestB113_RepeatsAreDroppedAHoleResumesAnEpochRestarts(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	c, conn := begin(t, s, client.Options{Handler: h})
	conn.send(chunk(2, "a"), chunk(2, "a"), chunk(1, "z"), chunk(3, "b"))
	e.wantText(t, "ab")

	conn.send(chunk(5, "d")) // 4 is missing
	r := conn.want(object{"command": "resume_chat", "data": object{"last_seq": 3, "epoch": "e1"}})
	conn.send(chunk(6, "x")) // still the old stream: the replay brings it
	conn.resume(r, object{"last_seq": 6, "first_seq": 4}, chunk(4, "c"), chunk(5, "d"), chunk(6, "e"))
	e.wantText(t, "cde")

	conn.send(object{
		"type": "chat_resumed", "thread_id": "t1", "status": "running", "last_seq": 2, "first_seq": 1, "replay_count": 2,
		"replay_incomplete": true, "epoch": "e2", "turn_id": "turn-1",
	}, chunk(1, "A"), chunk(2, "B"), chunk(3, "C"))
	e.wantText(t, "ABC")
	await(t, e.reconciles, "reconcile")
	if got := c.Thread("t1"); got.LastSeq != 3 || got.Epoch != "e2" {
		t.Errorf("cursor %+v, want 3 in e2", got)
	}
}

func TestB113_ANewTurnUnderAnOldNumberResumes(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	_, conn := begin(t, s, client.Options{Handler: h})
	conn.send(chunk(2, "a"), finished(3))
	await(t, e.finishes, "finish")
	conn.send(frame("turn_started", 1, object{"turn_id": "turn-7", "attempt": 1}))
	r := conn.want(object{"command": "resume_chat", "data": object{"last_seq": 3}})
	conn.resume(r, object{"epoch": "e2", "last_seq": 2, "first_seq": 1, "replay_incomplete": true, "turn_id": "turn-7"},
		frame("turn_started", 1, object{"turn_id": "turn-7"}), frame("chunk", 2, object{"turn_id": "turn-7", "content": "n"}))
	e.wantText(t, "an")
}

func TestFollowGoesOnWithoutAHoleAfterALostConnection(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	c := start(t, s.url, client.Options{Handler: h})
	conn := s.next()
	p, err := c.Follow("t1")
	if err != nil {
		t.Fatal(err)
	}
	r := conn.want(object{"command": "follow"})
	conn.send(object{"message": "Following", "thread_id": "t1", "last_seq": 41, "epoch": "e1", "status": "running", "request_id": r["request_id"]})
	await(t, p.Done(), "ack")
	conn.send(chunk(42, "x"))
	e.wantText(t, "x")
	conn.send(frame("turn_finished", 43, object{"outcome": "completed"}))
	await(t, e.finishes, "finish")
	conn.cut()
	conn = s.next()
	conn.want(object{"command": "resume_chat", "data": object{"last_seq": 43, "epoch": "e1"}})
}

func TestAThreadFollowedBeforeItEverRanResumesWithItsEpoch(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	c := start(t, s.url, client.Options{Handler: h})
	conn := s.next()
	p, err := c.Follow("t1")
	if err != nil {
		t.Fatal(err)
	}
	r := conn.want(object{"command": "follow"})
	conn.send(object{"message": "Following", "thread_id": "t1", "last_seq": 0, "epoch": "", "status": "unknown", "request_id": r["request_id"]})
	await(t, p.Done(), "ack")
	conn.send(frame("turn_started", 1, object{"attempt": 1, "epoch": "e7"}), chunk(2, "a"), finished(3),
		frame("turn_started", 4, object{"attempt": 1, "turn_id": "turn-2", "epoch": "e7"}), frame("chunk", 5, object{"content": "b", "turn_id": "turn-2"}))
	e.wantText(t, "ab")
	if got := c.Thread("t1"); got.Epoch != "e7" || got.LastSeq != 5 {
		t.Errorf("cursor %+v, want 5 in e7", got)
	}
	conn.cut()
	conn = s.next()
	r = conn.want(object{"command": "resume_chat", "data": object{"last_seq": 5, "epoch": "e7"}})
	conn.resume(r, object{"epoch": "e7", "last_seq": 6, "first_seq": 6, "turn_id": "turn-2"}, frame("chunk", 6, object{"content": "c", "turn_id": "turn-2"}))
	e.wantText(t, "c")
	if len(e.reconciles) > 0 {
		t.Error("asked to reconcile")
	}
}

func TestABatchIsManyFrames(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	_, conn := begin(t, s, client.Options{Handler: h})
	conn.sendBatch(chunk(2, "a"), chunk(3, "b"), chunk(4, "c"))
	e.wantText(t, "abc")
}
