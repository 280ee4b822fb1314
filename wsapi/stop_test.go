package wsapi_test

import (
	"slices"
	"testing"

	"turnlog/eventlog"
	"turnlog/session"
	"turnlog/wsapi"
)

const (
	stopAck   = `{"message":"Stop command processed","thread_id":"t","job_id":null}`
	stopFrame = `{"type":"generation_stopped","message":"Generation stopped by user","job_id":null,"thread_id":"t"}`
)

// unordered reads n frames and counts those of type generation_stopped; text
// of the turn after one of them fails the test.
func stopsAmong(p *peer, n int) (stops int) {
	p.t.Helper()
	for range n {
		switch f := p.next(); f["type"] {
		case "generation_stopped":
			stops++
		case "chunk":
			if stops > 0 && f["content"] != "" {
				p.t.Fatalf("text after generation_stopped: %v", f)
			}
		}
	}
	return stops
}

func follow(t *testing.T, url string) *peer {
	t.Helper()
	p := dial(t, url)
	p.send(`{"command":"follow","data":{"thread_id":"t"}}`)
	p.next()
	return p
}

func TestB124_StopOfAFollowedTurnBringsOnlyTheLoggedFrame(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := follow(t, url)
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	if n := stopsAmong(p, 4); n != 1 { // ack, generation_stopped, done, turn_finished
		t.Fatalf("%d generation_stopped", n)
	}
	p.settle()
}

func TestB124_StopWithoutFollowingOrWithNothingRunningIsAnsweredAtOnce(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	p.want(stopAck, stopFrame)
	w.begin("1", "t", "T")
	p.send(`{"command":"stop","data":{"thread_id":"t","turn_id":"T"}}`)
	p.want(stopAck, stopFrame)
	p.settle()
	q := follow(t, url)
	q.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	q.want(stopAck, stopFrame)
	q.settle()
	p.send(`{"command":"stop"}`)
	p.want(`{"message":"Stop command processed","thread_id":null,"job_id":null}`,
		`{"type":"generation_stopped","message":"Generation stopped by user","job_id":null,"thread_id":null}`)
	p.settle()
}

func TestB124_AStopWhoseTurnEndsByItselfIsAnsweredBehindTheTurnsEnd(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	w.onStop = func(string, string) (session.StopResult, error) {
		return session.StopResult{Stopped: true, TurnID: "T"}, nil
	}
	p := follow(t, url)
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	p.want(stopAck)
	w.emit("1", "t", `{"type":"chunk","content":"last words"}`, `{"type":"turn_finished","outcome":"completed"}`)
	p.want(`{"type":"chunk","content":"last words","thread_id":"t","turn_id":"T","chat_seq":2}`,
		`{"type":"turn_finished","outcome":"completed","thread_id":"t","turn_id":"T","chat_seq":3}`, stopFrame)
	p.settle()
}

func TestB124_AStopThatTheTurnsEndOvertakes(t *testing.T) {
	for name, last := range map[string][]string{
		"stopped":   {`{"type":"generation_stopped","message":"x","job_id":null}`, `{"type":"turn_finished","outcome":"stopped"}`},
		"completed": {`{"type":"chunk","content":"end"}`, `{"type":"turn_finished","outcome":"completed"}`},
	} {
		for _, stopped := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				w := newWorld()
				_, url := serve(t, w, wsapi.Options{}, nil)
				w.begin("1", "t", "T")
				p := follow(t, url)
				seen := make(chan struct{})
				w.onStop = func(string, string) (session.StopResult, error) {
					w.emit("1", "t", last...)
					<-seen // the frames are on the wire before the stop returns
					return session.StopResult{Stopped: stopped, TurnID: "T"}, nil
				}
				p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
				for f := p.next(); f["type"] != "turn_finished"; f = p.next() {
					if f["type"] == "generation_stopped" && name == "completed" {
						t.Error("too early")
					}
				}
				close(seen)
				p.want(stopAck)
				if name == "completed" {
					p.want(stopFrame)
				}
				p.settle()
			})
		}
	}
}

func TestB124_AStopThatFindsNothingWaitsForTheTailOnItsWay(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := follow(t, url)
	w.onStop = func(string, string) (session.StopResult, error) { return session.StopResult{}, nil }
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	p.want(stopAck)
	p.settle()
	w.emit("1", "t", `{"type":"chunk","content":"tail"}`, `{"type":"turn_finished","outcome":"completed"}`)
	p.next()
	p.next()
	p.want(stopFrame)
	p.settle()
}

func TestB124_AStopIsAnsweredThoughItsEndWasTrimmedAway(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := follow(t, url)
	w.onStop = func(string, string) (session.StopResult, error) {
		return session.StopResult{Stopped: true, TurnID: "T"}, nil
	}
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	p.want(stopAck)
	w.mu.Lock()
	w.threads[eventlog.Thread{User: "1", ID: "t"}].status = eventlog.StatusFinished
	w.mu.Unlock()
	w.reattach("1", "t", 1)
	if h := p.next(); h["type"] != "chat_resumed" || h["status"] != "finished" {
		t.Fatalf("got %v", h)
	}
	p.want(stopFrame)
	p.settle()
}

func TestStopWithoutThreadStopsWhatThisConnectionSubmitted(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "other", "O")
	p := dial(t, url)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x"}}`)
	p.next()
	p.next()
	p.send(`{"command":"stop"}`)
	if n := stopsAmong(p, 4); n != 1 {
		t.Fatalf("%d generation_stopped", n)
	}
	p.settle()
	if len(w.stops) != 1 || w.stops[0] != "t/turn-1" {
		t.Fatalf("stopped %v", w.stops)
	}
}

func TestStopNamesTheSubmissionsItDropped(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.onStop = func(string, string) (session.StopResult, error) {
		return session.StopResult{Dropped: []string{"Q"}}, nil
	}
	p := dial(t, url)
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	p.want(stopAck, `{"type":"submission_dropped","thread_id":"t","turn_id":"Q"}`, stopFrame)
}

// B43: a stop that names a turn and no thread touches that turn only, from any
// connection and node.
func TestB43_AStopByTurnAloneTouchesThatTurnOnly(t *testing.T) {
	a, b := pair(t)
	p := dial(t, a)
	turns := map[string]string{}
	for _, name := range []string{"one", "two", "three"} {
		p.send(`{"command":"chat_message","data":{"thread_id":%q,"content":"x","demo":{"frames":100000,"interval_ms":20}}}`, name)
		ack := p.until("ack", func(f map[string]any) bool { return f["message"] == "Chat message processing started" })
		turns[name] = ack[len(ack)-1]["turn_id"].(string)
	}
	q := dial(t, b)
	list := func() (running []string) {
		q.send(`{"command":"list_chat_turns"}`)
		for _, f := range q.until("list", func(f map[string]any) bool { return f["message"] == "Chat turns listed" }) {
			if f["type"] == "chat_turn_active" {
				running = append(running, f["thread_id"].(string))
			}
		}
		slices.Sort(running)
		return running
	}
	ended := func(thread string) func(map[string]any) bool {
		return func(f map[string]any) bool { return f["type"] == "turn_finished" && f["thread_id"] == thread }
	}
	p.send(`{"command":"stop","data":{"turn_id":"no such turn"}}`)
	p.until("ack", func(f map[string]any) bool { return f["message"] == "Stop command processed" })
	p.send(`{"command":"stop","data":{"turn_id":%q}}`, turns["two"])
	p.until("the end of two", ended("two"))
	if running := list(); !slices.Equal(running, []string{"one", "three"}) {
		t.Fatalf("running %v, want one and three", running)
	}
	q.send(`{"command":"stop","data":{"turn_id":%q}}`, turns["three"])
	p.until("the end of three", ended("three"))
	if running := list(); !slices.Equal(running, []string{"one"}) {
		t.Fatalf("running %v, want one", running)
	}
	p.send(`{"command":"stop"}`)
	p.until("the end of one", ended("one"))
}
