package verify_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"turnlog/chaos/verify"
	"turnlog/e2e/wire"
)

type object = map[string]any

// story builds a thread's log and what a viewer saw of it.
type story struct {
	t      *testing.T
	thread *verify.Thread
}

func (s *story) frame(seq int64, turn string, o object) *verify.Frame {
	s.t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	var decoded object
	if err := json.Unmarshal(b, &decoded); err != nil {
		s.t.Fatal(err)
	}
	decoded["chat_seq"], decoded["turn_id"], decoded["thread_id"] = float64(seq), turn, "t"
	f, err := verify.NewFrame(decoded)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *story) say(turn string, objects ...object) {
	for _, o := range objects {
		s.thread.Log = append(s.thread.Log, s.frame(int64(len(s.thread.Log)+1), turn, o))
	}
}

func started(attempt int, id string) object {
	return object{"type": "turn_started", "attempt": attempt, "on_disconnect": "grace", "message": object{"id": id, "role": "user", "content": "go"}}
}

func chunk(n int) object { return object{"type": "chunk", "content": wire.DemoChunk(n, 5)} }

func message(text string) object {
	return object{"type": "message", "role": "assistant", "content": text}
}

func done() object { return object{"type": "chunk", "content": "", "done": true} }

func end(outcome string) object { return object{"type": "turn_finished", "outcome": outcome} }

// good is a thread with a restarted turn that asked for a tool, and a superseded one with its successor,
// seen by a viewer on two sockets.
func good(t *testing.T) (*verify.History, *story) {
	th := &verify.Thread{User: "u", ID: "t", Epoch: "e"}
	for i, id := range []string{"a", "b", "c"} {
		th.Submissions = append(th.Submissions, &verify.Submission{ID: id, Acked: true, TurnID: fmt.Sprintf("T%d", i+1), Script: verify.Script{Frames: 3, Bytes: 5}})
	}
	th.Submissions[0].Script.Tool = &verify.Ask{Name: "lookup", At: 2}
	s := &story{t, th}
	s.say("T1", started(1, "a"), chunk(1), object{"type": "tool_call", "tool_call_id": "r1", "name": "lookup"},
		object{"type": "request_closed", "request_id": "r1", "reason": "restarted"}, started(2, "a"),
		object{"type": "tool_call", "tool_call_id": "r2", "name": "lookup"}, object{"type": "request_closed", "request_id": "r2", "reason": "answered"},
		object{"type": "chunk", "content": `answer:{"ok":true} `}, chunk(2), chunk(3),
		message(wire.DemoChunk(1, 5)+`answer:{"ok":true} `+wire.DemoChunk(2, 5)+wire.DemoChunk(3, 5)), done(), end("completed"))
	s.say("T2", started(1, "b"), chunk(1), object{"type": "message", "role": "assistant", "content": wire.DemoChunk(1, 5), "partial": true}, end("superseded"))
	s.say("T3", started(1, "c"), chunk(1), chunk(2), chunk(3), message(wire.DemoText(3, 5)), done(), end("completed"))
	v := &verify.Viewer{Name: "v"}
	begin := time.Unix(1000, 0)
	cut := len(th.Log) / 2
	for i, part := range [][]*verify.Frame{th.Log[:cut], th.Log[cut:]} {
		socket := &verify.Socket{Node: i, Opened: begin, Closed: begin.Add(time.Minute)}
		first, last := part[0].Seq, part[len(part)-1].Seq
		socket.Events = append(socket.Events, verify.Event{Resume: &verify.Cursor{LastSeq: first - 1, Epoch: "e"}},
			verify.Event{Header: &verify.Header{Status: "running", Epoch: "e", FirstSeq: first, LastSeq: last, ReplayCount: last - first + 1, Incomplete: i == 0}})
		for _, f := range part {
			socket.Events = append(socket.Events, verify.Event{Frame: f})
			v.Told = append(v.Told, verify.Event{Frame: f})
		}
		v.Sockets = append(v.Sockets, socket)
	}
	th.Viewers = []*verify.Viewer{v}
	return &verify.History{Threads: []*verify.Thread{th}}, s
}

// drop takes event i away from a list.
func drop(events []verify.Event, i int) []verify.Event {
	return append(append([]verify.Event(nil), events[:i]...), events[i+1:]...)
}

func TestEveryKindOfBadHistoryIsFound(t *testing.T) {
	for name, row := range map[string]struct {
		want  verify.Kind
		spoil func(h *verify.History, s *story)
	}{
		"nothing wrong": {"", func(*verify.History, *story) {}},
		"a socket skips a number": {verify.Gap, func(_ *verify.History, s *story) {
			so := s.thread.Viewers[0].Sockets[0]
			so.Events = drop(so.Events, 4)
		}},
		"the log skips a number": {verify.Gap, func(_ *verify.History, s *story) {
			s.thread.Viewers = nil
			s.thread.Log = append(s.thread.Log[:1:1], s.thread.Log[2:]...)
		}},
		"a resume skips a number": {verify.Gap, func(_ *verify.History, s *story) {
			s.thread.Viewers[0].Sockets[1].Events[0].Resume.LastSeq--
		}},
		"the client skips a number": {verify.Gap, func(_ *verify.History, s *story) {
			s.thread.Viewers[0].Told = drop(s.thread.Viewers[0].Told, 5)
		}},
		"a frame twice on one socket": {verify.Repeat, func(_ *verify.History, s *story) {
			so := s.thread.Viewers[0].Sockets[0]
			so.Events = append(so.Events, so.Events[len(so.Events)-1])
		}},
		"the client tells a frame twice": {verify.Repeat, func(_ *verify.History, s *story) {
			v := s.thread.Viewers[0]
			v.Told = append(v.Told, v.Told[3])
		}},
		"incomplete behind a good cursor": {verify.BadHeader, func(_ *verify.History, s *story) {
			s.thread.Viewers[0].Sockets[1].Events[1].Header.Incomplete = true
		}},
		"a viewer that stays behind": {verify.StuckViewer, func(_ *verify.History, s *story) {
			so := s.thread.Viewers[0].Sockets[1]
			so.Events = so.Events[:len(so.Events)-1]
		}},
		"two contents for a number": {verify.TwoContents, func(_ *verify.History, s *story) {
			s.thread.Viewers[0].Sockets[0].Events[3].Frame = s.frame(2, "T1", chunk(7))
		}},
		"two turns for a number": {verify.TwoContents, func(_ *verify.History, s *story) {
			s.thread.Viewers[0].Sockets[0].Events[3].Frame = s.frame(2, "T9", chunk(1))
		}},
		"two contents among viewers, no log": {verify.TwoContents, func(_ *verify.History, s *story) {
			v := s.thread.Viewers[0]
			so := &verify.Socket{Events: []verify.Event{{Frame: s.frame(2, "T1", chunk(7))}}}
			s.thread.Log, s.thread.Submissions = nil, nil
			s.thread.Viewers = append(s.thread.Viewers, &verify.Viewer{Name: "w", Sockets: []*verify.Socket{so}}, v)
		}},
		"a frame that is not in the log": {verify.NotInLog, func(_ *verify.History, s *story) {
			so := s.thread.Viewers[0].Sockets[1]
			so.Events = append(so.Events, verify.Event{Frame: s.frame(int64(len(s.thread.Log)+1), "T3", chunk(4))})
		}},
		"another numbering": {verify.NewEpoch, func(_ *verify.History, s *story) { s.thread.Epoch = "f" }},
		"an earlier turn writes on": {verify.SecondWriter, func(_ *verify.History, s *story) {
			f := s.thread.Log[19]
			*f = *s.frame(f.Seq, "T1", chunk(2))
		}},
		"an attempt left out": {verify.SecondWriter, func(_ *verify.History, s *story) {
			f := s.thread.Log[4]
			*f = *s.frame(f.Seq, "T1", started(3, "a"))
		}},
		"two ends":             {verify.DoubleTerminal, func(_ *verify.History, s *story) { s.say("T3", end("owner_lost")) }},
		"words behind the end": {verify.AfterTerminal, func(_ *verify.History, s *story) { s.say("T3", chunk(4)) }},
		"no end":               {verify.NoTerminal, func(_ *verify.History, s *story) { s.say("T4", started(1, "d")) }},
		"a chunk said twice": {verify.WrongContent, func(_ *verify.History, s *story) {
			f := s.thread.Log[9]
			*f = *s.frame(f.Seq, "T1", chunk(2))
		}},
		"a message that leaves something out": {verify.WrongContent, func(_ *verify.History, s *story) {
			f := s.thread.Log[10]
			*f = *s.frame(f.Seq, "T1", message("1:"))
		}},
		"too few chunks": {verify.WrongContent, func(_ *verify.History, s *story) { s.thread.Submissions[2].Script.Frames = 4 }},
		"an end without a reason": {verify.WrongOutcome, func(_ *verify.History, s *story) {
			f := s.thread.Log[len(s.thread.Log)-1]
			*f = *s.frame(f.Seq, "T3", end("owner_lost"))
		}},
		"a request left open": {verify.RequestNotClosed, func(_ *verify.History, s *story) {
			f := s.thread.Log[6]
			*f = *s.frame(f.Seq, "T1", object{"type": "log_update"})
		}},
		"an acknowledged turn is nowhere": {verify.LostTurn, func(_ *verify.History, s *story) {
			s.thread.Submissions = append(s.thread.Submissions, &verify.Submission{ID: "z", Acked: true, TurnID: "T9"})
		}},
		"one submission, two turns": {verify.DoubleTurn, func(_ *verify.History, s *story) {
			f := s.thread.Log[17]
			*f = *s.frame(f.Seq, "T3", started(1, "b"))
			s.thread.Submissions[2].Acked = false
		}},
		"a steer twice": {verify.SteerTwice, func(_ *verify.History, s *story) {
			s.thread.Steers = []*verify.Submission{{ID: "x", Text: "left", Acked: true}}
			for _, i := range []int{14, 18} {
				f := s.thread.Log[i]
				*f = *s.frame(f.Seq, f.Turn, object{"type": "chunk", "content": "steer:left "})
			}
		}},
		"a steer never": {verify.SteerLost, func(_ *verify.History, s *story) {
			s.thread.Steers = []*verify.Submission{{ID: "x", Text: "left", Acked: true}}
			s.thread.Viewers, s.thread.Submissions = nil, s.thread.Submissions[:1]
			s.thread.Log = s.thread.Log[:13]
		}},
		"detached before its viewer's eyes": {verify.DetachedWatched, func(_ *verify.History, s *story) {
			f := s.thread.Log[len(s.thread.Log)-1]
			*f = *s.frame(f.Seq, "T3", end("detached"))
			events := s.thread.Viewers[0].Sockets[1].Events
			events[1].Header.LastSeq, events[1].Header.ReplayCount = 17, 17-events[1].Header.FirstSeq+1
		}},
		"left running":          {verify.LeftRunning, func(_ *verify.History, s *story) { s.thread.Running = true }},
		"still in the list":     {verify.LeftRunning, func(h *verify.History, _ *story) { h.Left.Listed = 1 }},
		"never at rest":         {verify.LeftRunning, func(h *verify.History, _ *story) { h.Left.Unsettled = "u/t" }},
		"a key of a dead node":  {verify.LeftBehind, func(h *verify.History, _ *story) { h.Left.Keys = []string{"turnlog:{1}:node:x:turns"} }},
		"a channel of nobody":   {verify.LeftBehind, func(h *verify.History, _ *story) { h.Left.Channels = []string{"turnlog:{1}:u/t:live"} }},
		"goroutines left":       {verify.Unhealthy, func(h *verify.History, _ *story) { h.Left.Nodes = []verify.Node{{Goroutines: 9, MaxRoutine: 8}} }},
		"memory left":           {verify.Unhealthy, func(h *verify.History, _ *story) { h.Left.Nodes = []verify.Node{{RSS: 9, MaxRSS: 8}} }},
		"a panic in a node log": {verify.Unhealthy, func(h *verify.History, _ *story) { h.Left.Nodes = []verify.Node{{Complaints: []string{"panic: x"}}} }},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := good(t)
			row.spoil(h, s)
			findings := verify.Check(h)
			for _, f := range findings {
				if f.Kind == row.want {
					return
				}
			}
			if row.want != "" || len(findings) > 0 {
				t.Errorf("want %q, found %v", row.want, findings)
			}
		})
	}
}

func TestAnswersStandInForRequestsUnderTheirNumber(t *testing.T) {
	h, s := good(t)
	events := s.thread.Viewers[0].Sockets[0].Events
	events[4].Frame = s.frame(3, "T1", object{"type": "request_open", "request_id": "r1", "kind": "tool_call"})
	events[7].Frame = s.frame(6, "T1", object{"type": "request_closed", "request_id": "r2", "reason": "answered"})
	if bad := verify.Check(h); len(bad) > 0 {
		t.Errorf("found %v", bad)
	}
	events[4].Frame = s.frame(3, "T1", object{"type": "request_open", "request_id": "other"})
	if bad := verify.Check(h); len(bad) != 1 || !strings.Contains(bad[0].String(), "two contents") {
		t.Errorf("found %v", bad)
	}
}
