package client

import "slices"

// thread is what the Client knows of one thread: a machine without I/O, clock or chance.
// step takes an input and returns the state behind it and what has to be done; a thread is a
// value, and its slices are never changed in place. JavaScript's client/js/thread.js is the
// same machine, and testdata/thread_cases.json holds both to it.
type thread struct {
	id         string
	epoch      string
	cursor     int64    // highest chat_seq seen
	positioned bool     // cursor means something: the next frame is cursor+1
	syncing    bool     // a resume is on its way: numbered frames are ignored
	open       bool     // asked to be followed while idle too
	running    bool     // a turn is in flight
	turnID     string   // of the newest turn
	queued     []string // turn ids of submissions waiting on the server
	sending    int      // submissions without acknowledgement
	tried      bool     // one of them was written on an earlier connection
	turns      []string // newest turn ids seen start
	full       bool     // the next resume asks for everything held
	policy     string   // on_disconnect of the next resume
}

// effects are what has to be done, in this order.
type effects struct {
	resume    bool // send resume_chat with the thread's resumeData
	deliver   bool // the frame is new
	reconcile bool // the history has to be loaded again
}

// input is something that happens to a thread.
type input interface {
	take(t *thread) effects // t is step's own copy
}

func (t thread) step(in input) (thread, effects) {
	e := in.take(&t)
	t.syncing = t.syncing || e.resume
	return t, e
}

// busy says whether a turn runs, or is about to, as far as we know.
func (t thread) busy() bool { return t.running || t.sending > 0 || len(t.queued) > 0 }

// wanted says whether a new connection should resume the thread. A submission
// that was never written is no reason: it follows the thread by itself.
func (t thread) wanted() bool { return t.open || t.running || t.tried || len(t.queued) > 0 }

// resumeData is the data of the resume_chat that puts the thread in step.
func (t thread) resumeData() resumeData {
	return resumeData{ThreadID: t.id, LastSeq: t.cursor, Epoch: t.epoch, Full: t.full, OnDisconnect: t.policy}
}

type resumeData struct {
	ThreadID     string `json:"thread_id"`
	LastSeq      int64  `json:"last_seq"`
	Epoch        string `json:"epoch,omitempty"`
	Full         bool   `json:"full,omitempty"`
	OnDisconnect string `json:"on_disconnect,omitempty"`
}

const rememberedTurns = 16

// knows says whether the turn was seen to start.
func (t *thread) knows(turnID string) bool { return slices.Contains(t.turns, turnID) }

func (t *thread) begun(turnID string) {
	t.running, t.turnID, t.queued = true, turnID, without(t.queued, turnID)
	if t.knows(turnID) {
		return
	}
	t.turns = append(slices.Clip(t.turns), turnID)
	if n := len(t.turns) - rememberedTurns; n > 0 {
		t.turns = t.turns[n:]
	}
}

// without is a copy of list without id.
func without(list []string, id string) []string {
	if !slices.Contains(list, id) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == id })
}

// connected is a new connection; disconnected is its loss.
type (
	connected    struct{}
	disconnected struct{}
)

func (connected) take(t *thread) effects { return effects{resume: t.wanted()} }

func (disconnected) take(t *thread) effects {
	t.syncing = false
	return effects{}
}

// opened is the user's wish to follow the thread while it is idle too.
type opened struct {
	OpenOptions
	online bool
}

func (in opened) take(t *thread) effects {
	t.open, t.full = true, in.Full
	if in.OnDisconnect != "" {
		t.policy = in.OnDisconnect
	}
	switch {
	case in.Full:
		t.cursor, t.epoch, t.positioned = 0, "", false
	case in.Epoch != "" || in.LastSeq > 0:
		t.cursor, t.epoch, t.positioned = in.LastSeq, in.Epoch, true
	}
	return effects{resume: in.online}
}

// listed is a chat_turn_active: a turn runs here.
type listed struct{ turnID string }

func (in listed) take(t *thread) effects {
	if t.running || t.syncing {
		return effects{}
	}
	t.running, t.turnID = true, in.turnID
	return effects{resume: true}
}

// resumeRefused is the answer to a resume that trying again cannot help.
type resumeRefused struct{}

func (resumeRefused) take(t *thread) effects {
	t.syncing, t.open, t.running = false, false, false
	return effects{}
}
