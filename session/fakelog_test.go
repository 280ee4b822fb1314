package session_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"turnlog/closing"
	"turnlog/eventlog"
	"turnlog/frame"
	"turnlog/session"
)

var errRedis = errors.New("connection reset")

// fakeLog is an event log in memory. It keeps the real one's rules that the
// session relies on, and fails on demand.
type fakeLog struct {
	mu      sync.Mutex
	threads map[eventlog.Thread]*fakeThread
	inbox   map[string]map[eventlog.Thread]bool
	leases  map[string]bool
	dead    map[string]bool
	faults  map[string][]fault
	calls   map[string]int
	down    bool // nothing answers
	wake    func()
	outage  time.Duration // outage budget of writers
}

// fault makes one call of a method fail, before or after it had its effect.
type fault struct {
	after bool
	err   error
}

type fakeThread struct {
	epoch     string
	seq       int64
	ordinal   int64
	log       []eventlog.StoredFrame
	messages  []eventlog.Message
	adm       eventlog.Admission
	owner     string
	status    eventlog.Status
	outcome   eventlog.Outcome
	finisher  string
	fence     eventlog.Outcome // why the running turn may not be appended to
	successor string
	policy    eventlog.Policy
	first     int64
	inputs    []eventlog.Input
	requests  map[string]bool
	consumed  int64
	queue     []eventlog.Submission
	submitted map[string]eventlog.Submission // by client id
	lost      bool                           // waits for its next attempt
	state     []byte                         // checkpoint
	parent    string                         // thread that its history goes back to,
	upTo      int64                          // up to this number
}

func newFakeLog() *fakeLog {
	return &fakeLog{
		threads: make(map[eventlog.Thread]*fakeThread), inbox: make(map[string]map[eventlog.Thread]bool),
		outage: time.Minute,
		leases: make(map[string]bool), dead: make(map[string]bool), faults: make(map[string][]fault), calls: make(map[string]int),
	}
}

var _ session.Log = (*fakeLog)(nil)

// fail makes the next n calls of a method fail; after: with their effect made.
func (l *fakeLog) fail(method string, n int, after bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.faults[method] = append(l.faults[method], fault{after, errRedis})
	}
}

func (l *fakeLog) setDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

// do runs a method under the lock, with its faults.
func (l *fakeLog) do(ctx context.Context, method string, effect func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.calls[method]++
	if l.down {
		return fmt.Errorf("%s: %w", method, errRedis)
	}
	var f *fault
	if q := l.faults[method]; len(q) > 0 {
		f, l.faults[method] = &q[0], q[1:]
		if !f.after {
			return f.err
		}
	}
	err := effect()
	if f != nil {
		return f.err
	}
	return err
}

func (l *fakeLog) called(method string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[method]
}

func (l *fakeLog) thread(t eventlog.Thread) *fakeThread {
	th := l.threads[t]
	if th == nil {
		th = &fakeThread{epoch: "e1", submitted: make(map[string]eventlog.Submission), requests: make(map[string]bool)}
		l.threads[t] = th
	}
	return th
}

func (th *fakeThread) append(entries ...eventlog.Entry) (first int64) {
	first = th.seq + 1
	for _, e := range entries {
		th.seq++
		th.log = append(th.log, eventlog.StoredFrame{Seq: th.seq, Ordinal: th.ordinal, Type: e.Type, Frame: e.Frame})
		if e.Type == "message" {
			th.messages = append(th.messages, eventlog.Message{Seq: th.seq, Epoch: th.epoch, TurnID: th.adm.TurnID, Row: e.Frame})
		}
		if e.Opens != nil {
			th.requests[e.Opens.ID] = true
		}
		if e.Closes != "" {
			delete(th.requests, e.Closes)
		}
	}
	return first
}

func (th *fakeThread) start(sub eventlog.Submission, owner string, attempt int) eventlog.Admission {
	th.fence, th.successor, th.lost = "", "", false
	th.owner, th.status, th.outcome, th.finisher = owner, eventlog.StatusRunning, "", ""
	if attempt == 1 {
		th.ordinal++
		th.inputs, th.consumed, th.state = nil, 0, nil
		th.policy = sub.Policy
	}
	started := fmt.Appendf(nil, `{"type":"turn_started","attempt":%d,"on_disconnect":"grace","message":%s}`, attempt, sub.Message)
	seq := th.append(eventlog.Entry{Type: "turn_started", Frame: started})
	if attempt == 1 {
		th.first = seq
		th.messages = append(th.messages, eventlog.Message{Seq: seq, Epoch: th.epoch, TurnID: sub.TurnID, Row: sub.Message})
	}
	th.adm = eventlog.Admission{
		Verdict: eventlog.VerdictStarted, TurnID: sub.TurnID, Attempt: attempt, Ordinal: th.ordinal, Epoch: th.epoch,
		FirstSeq: seq, Started: started, Policy: th.policy, Status: eventlog.StatusRunning, Submission: sub,
	}
	return th.adm
}

// close ends the running turn: open requests, closing frames, steers to the queue.
func (th *fakeThread) close(outcome eventlog.Outcome, finisher string, frames []eventlog.Entry) []eventlog.StoredFrame {
	from := len(th.log)
	for id := range th.requests {
		th.append(eventlog.Entry{Type: "request_closed", Frame: fmt.Appendf(nil, `{"type":"request_closed","request_id":%q,"reason":"turn_ended"}`, id), Closes: id})
	}
	th.append(frames...)
	th.status, th.outcome, th.finisher, th.fence = eventlog.StatusFinished, outcome, finisher, ""
	for _, in := range th.inputs {
		if in.Kind == eventlog.InputSteer && in.Seq > th.consumed {
			th.queue = append(th.queue, steerSubmission(in))
		}
	}
	th.inputs = nil
	return append([]eventlog.StoredFrame(nil), th.log[from:]...)
}

func (th *fakeThread) busy(t eventlog.Thread) eventlog.RunningTurn {
	return eventlog.RunningTurn{
		Thread: t, TurnID: th.adm.TurnID, Attempt: th.adm.Attempt, Owner: th.owner, FirstSeq: th.first, LastSeq: th.seq,
		Ordinal: th.ordinal, Epoch: th.epoch, Policy: th.policy, LastFrame: time.Now().UnixMilli(),
	}
}

// fenceTurn is what others do to a running turn: its owner may not append any
// more and is told through its inbox.
func (l *fakeLog) fenceTurn(t eventlog.Thread, outcome eventlog.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	th := l.thread(t)
	th.fence = outcome
	l.signal(th.owner, t)
}

// endTurn is what the reaper does.
func (l *fakeLog) endTurn(t eventlog.Thread, outcome eventlog.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	th := l.thread(t)
	said := closing.NewTranscript(0)
	said.AddStored(th.log[th.first-1:])
	th.close(outcome, "reaper", said.Close(closing.End{Outcome: outcome}))
	l.signal(th.owner, t)
}

func (l *fakeLog) signal(node string, t eventlog.Thread) {
	if l.inbox[node] == nil {
		l.inbox[node] = make(map[eventlog.Thread]bool)
	}
	l.inbox[node][t] = true
	if l.wake != nil {
		l.wake()
	}
}

// frames returns copies of the thread's frames.
func (l *fakeLog) frames(t eventlog.Thread) []eventlog.StoredFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]eventlog.StoredFrame(nil), l.thread(t).log...)
}

// brief lists the thread's frames: types, and what tells them apart.
func (l *fakeLog) brief(t eventlog.Thread) []string {
	var out []string
	for _, f := range l.frames(t) {
		s := f.Type
		for _, key := range []string{"content", "outcome", "reason", "role"} {
			if v, ok := frame.String(f.Frame, key); ok && v != "" && !(key == "content" && f.Type == "message" && v[0] == 'T') {
				s += " " + v
			}
		}
		if done, ok := frame.Raw(f.Frame, "done"); ok && string(done) == "true" {
			s += " done"
		}
		out = append(out, s)
	}
	return out
}
