package wsapi_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"turnlog/eventlog"
	"turnlog/frame"
	"turnlog/session"
	"turnlog/wsapi"
)

// world is a hand-written stand-in for session, hub and log: threads in
// memory, with hooks to make things happen or fail at the right moment.
type world struct {
	mu       sync.Mutex
	threads  map[eventlog.Thread]*fakeThread
	submits  []session.Submit
	answers  []session.Answer
	stops    []string
	left     []leaving
	draining bool

	onSubmit func(session.Submit) (eventlog.Admission, error)
	onStop   func(threadID, turnID string) (session.StopResult, error)
	onPolicy func(eventlog.Policy, string) (eventlog.Policy, error)
	nextErr  error // of Viewer.Next
}

type leaving struct {
	thread   string
	byServer bool
}

type fakeThread struct {
	id      eventlog.Thread
	epoch   string
	status  eventlog.Status
	turnID  string
	first   int64
	frames  []*eventlog.Delivered
	open    []eventlog.OpenRequest
	viewers []*fakeViewer
}

func newWorld() *world { return &world{threads: make(map[eventlog.Thread]*fakeThread)} }

func (w *world) threadLocked(t eventlog.Thread) *fakeThread {
	th := w.threads[t]
	if th == nil {
		th = &fakeThread{id: t, status: eventlog.StatusUnknown}
		w.threads[t] = th
	}
	return th
}

// begin starts a turn.
func (w *world) begin(user, thread, turnID string) eventlog.Admission {
	w.mu.Lock()
	th := w.threadLocked(eventlog.Thread{User: user, ID: thread})
	th.epoch, th.status, th.turnID, th.first = "e1", eventlog.StatusRunning, turnID, int64(len(th.frames))+1
	w.mu.Unlock()
	w.emit(user, thread, `{"type":"turn_started","attempt":1}`)
	return eventlog.Admission{Verdict: eventlog.VerdictStarted, TurnID: turnID, Epoch: "e1",
		FirstSeq: th.first, Policy: eventlog.PolicyGrace, Status: eventlog.StatusRunning}
}

// emit appends frames to the running turn.
func (w *world) emit(user, thread string, frames ...string) {
	w.mu.Lock()
	th := w.threadLocked(eventlog.Thread{User: user, ID: thread})
	for _, f := range frames {
		typ, err := frame.Type([]byte(f))
		if err != nil {
			panic(err)
		}
		seq := int64(len(th.frames)) + 1
		th.frames = append(th.frames, &eventlog.Delivered{Seq: seq, Epoch: th.epoch, TurnID: th.turnID, Type: typ,
			JSON: frame.Splice(nil, []byte(f), thread, th.turnID, seq)})
		switch typ {
		case "turn_finished":
			th.status = eventlog.StatusFinished
			th.open = nil
		case "tool_call":
			id, _ := frame.String([]byte(f), "tool_call_id")
			name, _ := frame.String([]byte(f), "name")
			th.open = append(th.open, eventlog.OpenRequest{ID: id, Kind: "tool_call", Name: name, Seq: seq, Frame: []byte(f)})
		case "tool_approval_request":
			id, _ := frame.String([]byte(f), "approval_id")
			th.open = append(th.open, eventlog.OpenRequest{ID: id, Kind: "tool_approval", Seq: seq, Frame: []byte(f)})
		case "request_closed":
			id, _ := frame.String([]byte(f), "request_id")
			th.open = slices.DeleteFunc(th.open, func(r eventlog.OpenRequest) bool { return r.ID == id })
		}
	}
	viewers := slices.Clone(th.viewers)
	w.mu.Unlock()
	for _, v := range viewers {
		v.wake()
	}
}

// reattach gives every viewer a new header, as after a trimmed log.
func (w *world) reattach(user, thread string, from int64) {
	w.mu.Lock()
	th := w.threadLocked(eventlog.Thread{User: user, ID: thread})
	viewers := slices.Clone(th.viewers)
	for _, v := range viewers {
		v.pos = from
		v.header = th.header(from, true)
	}
	w.mu.Unlock()
	for _, v := range viewers {
		v.wake()
	}
}

func (th *fakeThread) header(from int64, incomplete bool) *eventlog.Header {
	last := int64(len(th.frames))
	h := &eventlog.Header{Thread: th.id, Status: th.status, LastSeq: last, ReplayCount: last - from, ReplayIncomplete: incomplete,
		Epoch: th.epoch, TurnID: th.turnID, Policy: eventlog.PolicyGrace}
	if th.status == eventlog.StatusUnknown {
		return &eventlog.Header{Thread: th.id, Status: eventlog.StatusUnknown}
	}
	if th.status == eventlog.StatusFinished {
		h.Outcome = eventlog.OutcomeCompleted
	}
	if h.ReplayCount > 0 {
		h.FirstSeq = from + 1
	}
	for _, r := range th.open {
		if r.Seq <= from {
			h.Unnumbered = append(h.Unnumbered, r)
		}
	}
	return h
}

// fakeViewer is a cursor over a fakeThread.
type fakeViewer struct {
	w         *world
	th        *fakeThread
	wake      func()
	started   bool
	pos       int64
	header    *eventlog.Header
	retarget  []string
	openUntil int64
	opened    []string
}

var _ wsapi.Viewer = (*fakeViewer)(nil)

func (w *world) Reserve(_ context.Context, t eventlog.Thread, wake func()) (wsapi.Viewer, error) {
	if len(t.ID) > 256 {
		return nil, fmt.Errorf("thread: %w", eventlog.ErrBadID)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	th := w.threadLocked(t)
	v := &fakeViewer{w: w, th: th, wake: wake}
	th.viewers = append(th.viewers, v)
	return v, nil
}

func (w *world) Retarget(t eventlog.Thread, id string) {
	w.mu.Lock()
	viewers := slices.Clone(w.threadLocked(t).viewers)
	for _, v := range viewers {
		v.retarget = append(v.retarget, id)
	}
	w.mu.Unlock()
	for _, v := range viewers {
		v.wake()
	}
}

func (v *fakeViewer) Generation() int64 { return 1 }

func (v *fakeViewer) Position() (string, int64) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	return v.th.epoch, v.pos
}

func (v *fakeViewer) Start(_ string, after int64) {
	v.w.mu.Lock()
	v.started, v.pos = true, after
	v.w.mu.Unlock()
	v.wake()
}

func (v *fakeViewer) Rejoin(_ context.Context, c eventlog.Cursor, _ eventlog.Policy) error {
	v.w.mu.Lock()
	last := int64(len(v.th.frames))
	switch {
	case c.Live && v.started:
	case c.Live:
		v.pos = last
	default:
		v.pos = min(c.LastSeq, last)
		v.openUntil, v.opened = last, nil
		for _, r := range v.th.open {
			v.opened = append(v.opened, r.ID)
		}
		v.header = v.th.header(v.pos, c.LastSeq <= 0)
		if v.th.status == eventlog.StatusUnknown {
			v.pos = last
		}
	}
	v.started = true
	v.w.mu.Unlock()
	v.wake()
	return nil
}

func (v *fakeViewer) Next(_ context.Context, maxFrames, _ int) (eventlog.Delivery, error) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	if v.w.nextErr != nil {
		return eventlog.Delivery{}, v.w.nextErr
	}
	if !v.started {
		return eventlog.Delivery{}, nil
	}
	d := eventlog.Delivery{Header: v.header, Retarget: v.retarget}
	v.header, v.retarget = nil, nil
	rest := v.th.frames[v.pos:]
	rest = rest[:min(len(rest), maxFrames)]
	v.pos += int64(len(rest))
	d.Frames = rest
	return d, nil
}

func (v *fakeViewer) RequestOpen(id string, seq int64) bool {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	return seq > v.openUntil || slices.Contains(v.opened, id)
}

func (v *fakeViewer) Leave(_ context.Context, byServer bool) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	v.th.viewers = slices.DeleteFunc(v.th.viewers, func(o *fakeViewer) bool { return o == v })
	v.w.left = append(v.w.left, leaving{v.th.id.ID, byServer})
}

// log

func (w *world) ClaimRequest(_ context.Context, t eventlog.Thread, id, conn string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	th := w.threadLocked(t)
	for i := range th.open {
		r := &th.open[i]
		if r.ID == id && (r.Target == "" || r.Target == conn) {
			r.Target = conn
			return true, nil
		}
	}
	return false, nil
}

func (w *world) ReleaseConn(_ context.Context, t eventlog.Thread, conn string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ids []string
	th := w.threadLocked(t)
	for i := range th.open {
		if th.open[i].Target == conn {
			th.open[i].Target = ""
			ids = append(ids, th.open[i].ID)
		}
	}
	return ids, nil
}

func (w *world) Frames(_ context.Context, t eventlog.Thread, after, _ int64, _, _ int) ([]eventlog.StoredFrame, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.threadLocked(t).frames[after]
	stored, err := frame.Strip(d.JSON)
	return []eventlog.StoredFrame{{Seq: d.Seq, Type: d.Type, Frame: stored}}, err
}

func (w *world) Peek(_ context.Context, threads []eventlog.Thread) ([]eventlog.Peek, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []eventlog.Peek
	for _, t := range threads {
		th := w.threadLocked(t)
		out = append(out, eventlog.Peek{Thread: t, Epoch: th.epoch, LastSeq: int64(len(th.frames)), Status: th.status})
	}
	return out, nil
}
