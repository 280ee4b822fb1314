package client

// thread is what the Client knows of one thread. It does no I/O: it takes what
// arrived and says what to do. The Client's lock guards it.
type thread struct {
	id         string
	epoch      string
	cursor     int64 // highest chat_seq seen
	positioned bool  // cursor means something: the next frame is cursor+1
	syncing    bool  // a resume is on its way: numbered frames are ignored
	open       bool  // asked to be followed while idle too
	running    bool  // a turn is in flight
	turnID     string
	queued     map[string]bool // turn ids of submissions waiting on the server
	sending    int             // submissions without acknowledgement
	tried      bool            // one of them was written on an earlier connection
	turns      []string        // newest turn ids seen start
	full       bool            // the next resume asks for everything held
	policy     string          // on_disconnect of the next resume
	reported   bool            // busy state last told to the handler
}

const rememberedTurns = 16

func newThread(id string) *thread { return &thread{id: id, queued: map[string]bool{}} }

// inFlight says whether a turn runs, or is about to, as far as we know.
func (t *thread) inFlight() bool { return t.running || t.sending > 0 || len(t.queued) > 0 }

// wanted says whether a new connection should resume the thread. A submission
// that was never written is no reason: it follows the thread by itself.
func (t *thread) wanted() bool { return t.open || t.running || t.tried || len(t.queued) > 0 }

// disconnected forgets what belonged to the connection.
func (t *thread) disconnected() { t.syncing = false }

// verdict is what to do with a frame.
type verdict int

const (
	deliver verdict = iota
	drop
	resync // drop it and resume
)

// header takes a chat_resumed and says whether the history must be loaded again.
func (t *thread) header(h Header) (reconcile bool) {
	t.syncing = false
	start := h.LastSeq
	if h.ReplayCount > 0 && h.FirstSeq > 0 {
		start = h.FirstSeq - 1
	}
	switch {
	case h.Status == StatusUnknown:
		// Nothing is held. Numbers may go on in the old epoch (the thread
		// lives longer than its log): the cursor stays useful for dedupe, and
		// the next frame, whatever its number, is in step.
		t.positioned = false
		if h.Epoch != "" && h.Epoch != t.epoch {
			t.epoch, t.cursor = h.Epoch, 0
		}
		t.running, t.turnID = false, ""
		clear(t.queued)
		return true
	case h.Epoch != t.epoch, h.LastSeq < t.cursor:
		t.epoch, t.cursor = h.Epoch, start
	case start > t.cursor:
		t.cursor = start
	}
	t.positioned = true
	if h.Status != StatusRunning {
		clear(t.queued) // what waited has run, or was dropped by somebody else's stop
	}
	switch {
	case h.ReplayIncomplete && h.Status == StatusRunning:
		t.running, t.turnID = true, h.TurnID
	case h.ReplayIncomplete:
		t.running = false
	case h.ReplayCount == 0: // there is no frame that could say so
		t.running, t.turnID = h.Status == StatusRunning, h.TurnID
	}
	return h.ReplayIncomplete
}

// started is what a turn_started says about the numbering.
type started struct {
	Attempt int    `json:"attempt"`
	Epoch   string `json:"epoch"` // "" from older servers
}

// frame takes a frame of the thread; start is read from a turn_started.
func (t *thread) frame(f Frame, start started) verdict {
	if f.Seq == 0 {
		t.track(f)
		return deliver
	}
	switch {
	case t.syncing:
		return drop
	case f.Seq <= t.cursor:
		// A turn we never saw under a number we did: numbering restarted
		// without a header. The resume brings the new epoch.
		if f.Type == "turn_started" && start.Attempt <= 1 && f.TurnID != "" && !t.knows(f.TurnID) {
			return resync
		}
		return drop
	case t.positioned && f.Seq > t.cursor+1:
		return resync
	}
	t.cursor, t.positioned = f.Seq, true
	if start.Epoch != "" { // the only word of it when the thread had never run before
		t.epoch = start.Epoch
	}
	t.track(f)
	return deliver
}

// track follows the turn's life.
func (t *thread) track(f Frame) {
	switch f.Type {
	case "turn_started":
		t.running, t.turnID = true, f.TurnID
		delete(t.queued, f.TurnID)
		if !t.knows(f.TurnID) {
			t.turns = append(t.turns, f.TurnID)
			if len(t.turns) > rememberedTurns {
				t.turns = t.turns[1:]
			}
		}
	case "turn_finished":
		// A superseded turn's successor is already there: stay busy.
		if !isSuperseded(f) && (t.turnID == "" || f.TurnID == "" || f.TurnID == t.turnID) {
			t.running = false
		}
	case "submission_dropped":
		delete(t.queued, f.TurnID)
	case "generation_stopped":
		if f.Seq == 0 {
			t.running = false // nothing was running, or we do not follow it
		}
	default:
		if f.Seq > 0 && f.TurnID != "" { // only running turns speak
			t.running, t.turnID = true, f.TurnID
		}
	}
}

func (t *thread) knows(turnID string) bool {
	for _, id := range t.turns {
		if id == turnID {
			return true
		}
	}
	return false
}

// announced takes the epoch and status of an acknowledgement; true means that the
// numbering is not the one we know, and only a header can put us in step.
func (t *thread) announced(epoch string) (mustResume bool) {
	if epoch == "" || epoch == t.epoch {
		return false
	}
	if t.epoch == "" {
		t.epoch = epoch
		return false
	}
	return true
}

// unsure says whether, behind this frame, what waits on the server may be gone:
// a stop drops it and tells only its sender.
func (t *thread) unsure(f Frame) bool {
	return f.Type == "turn_finished" && len(t.queued) > 0 && outcome(f) == "stopped"
}

func isSuperseded(f Frame) bool { return outcome(f) == "superseded" }

func outcome(f Frame) string {
	var v struct {
		Outcome string `json:"outcome"`
	}
	_ = f.Decode(&v)
	return v.Outcome
}
