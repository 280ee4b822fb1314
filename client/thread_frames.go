package client

// header is a chat_resumed: what is about to be replayed.
type header struct{ Header }

func (in header) take(t *thread) effects {
	h := in.Header
	t.syncing, t.full = false, false
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
		t.running, t.turnID, t.queued = false, "", nil
		return effects{reconcile: true}
	case h.Epoch != t.epoch, h.LastSeq < t.cursor:
		t.epoch, t.cursor = h.Epoch, start
	case start > t.cursor:
		t.cursor = start
	}
	t.positioned = true
	if h.Status != StatusRunning {
		t.queued = nil // what waited has run, or was dropped by somebody else's stop
	}
	switch {
	case h.ReplayIncomplete && h.Status == StatusRunning:
		t.running, t.turnID = true, h.TurnID
	case h.ReplayIncomplete:
		t.running = false
	case h.ReplayCount == 0: // there is no frame that could say so
		t.running, t.turnID = h.Status == StatusRunning, h.TurnID
	}
	return effects{reconcile: h.ReplayIncomplete}
}

// arrived is a frame of the thread.
type arrived struct{ Frame }

func (in arrived) take(t *thread) effects {
	f := in.Frame
	var said facts
	if f.Type == "turn_started" || f.Type == "turn_finished" {
		_ = f.Decode(&said)
	}
	switch {
	case f.Seq == 0:
		t.track(f, said)
		return effects{deliver: true}
	case t.syncing:
		return effects{}
	case f.Seq <= t.cursor:
		// A turn we never saw under a number we did: numbering restarted
		// without a header. The resume brings the new epoch.
		return effects{resume: f.Type == "turn_started" && said.Attempt <= 1 && f.TurnID != "" && !t.knows(f.TurnID)}
	case t.positioned && f.Seq > t.cursor+1:
		return effects{resume: true}
	}
	t.cursor, t.positioned = f.Seq, true
	if f.Type == "turn_started" && said.Epoch != "" { // the only word of it when the thread had never run before
		t.epoch = said.Epoch
	}
	t.track(f, said)
	// A stop drops what waits on the server and tells only its sender.
	return effects{deliver: true, resume: f.Type == "turn_finished" && said.Outcome == "stopped" && len(t.queued) > 0}
}

// facts are what the first and last frame of a turn say.
type facts struct {
	Attempt int    `json:"attempt"`
	Epoch   string `json:"epoch"` // "" from older servers
	Outcome string `json:"outcome"`
}

// track follows the turn's life.
func (t *thread) track(f Frame, said facts) {
	switch f.Type {
	case "turn_started":
		t.begun(f.TurnID)
	case "turn_finished":
		// A superseded turn's successor is already there: stay busy.
		if said.Outcome != "superseded" && (t.turnID == "" || f.TurnID == "" || f.TurnID == t.turnID) {
			t.running = false
		}
	case "submission_dropped":
		t.queued = without(t.queued, f.TurnID)
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
