package eventlog

import "strings"

// receive takes a live message.
func (f *follower) receive(message string) {
	p, err := parsePayload(message)
	if err != nil {
		f.hub.opts.Logger.Warn("live message not understood", "thread_id", f.thread.ID, "error", err)
		f.hub.suspect(f)
		return
	}
	switch p.kind {
	case 'r':
		f.retarget(p.request)
	case 'd':
		f.restart()
		f.hub.suspect(f)
	case 'e':
		f.hub.suspect(f)
	default:
		f.receiveFrames(p)
	}
}

func (f *follower) receiveFrames(p payload) {
	if f.knows(p.epoch, p.first+int64(p.count)-1) {
		return
	}
	entries, err := p.entries()
	if err != nil {
		f.hub.opts.Logger.Warn("live message not understood", "thread_id", f.thread.ID, "error", err)
		f.hub.suspect(f)
		return
	}
	f.accept(batch{epoch: p.epoch, ordinal: p.ordinal, turnID: p.turnID, first: p.first, entries: entries})
}

// knows reports whether the cache already reaches to this number.
func (f *follower) knows(epoch string, last int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epoch == epoch && f.ring.last >= last
}

// accept takes frames that are in the log. Repeats are dropped; behind a hole
// the cache starts anew and viewers read the hole from the log. Frames of
// another epoch are not believed before the log has been asked.
func (f *follower) accept(b batch) {
	f.mu.Lock()
	if f.epoch == "" {
		f.setEpochLocked(strings.Clone(b.epoch))
	}
	if f.epoch != b.epoch {
		f.mu.Unlock()
		f.hub.suspect(f)
		return
	}
	f.accepted++
	f.knowTurnLocked(b.ordinal, b.turnID)
	if known := f.turns[b.ordinal]; known == b.turnID {
		b.turnID = known // ours: frames must not keep the live message in memory
	}
	if skip := f.ring.last + 1 - b.first; !f.ring.empty() && skip > 0 {
		skip = min(skip, int64(len(b.entries)))
		b.entries, b.first = b.entries[skip:], b.first+skip
	}
	if len(b.entries) == 0 {
		f.mu.Unlock()
		return
	}
	for _, d := range encode(f.thread.ID, f.epoch, b.first, b.entries, func(int) string { return b.turnID }) {
		f.ring.push(d)
		f.noteLocked(d)
	}
	viewers := f.viewers
	f.mu.Unlock()
	wake(viewers)
}

// noteLocked keeps the newest number and the status up to date.
func (f *follower) noteLocked(d *Delivered) {
	if d.Seq <= f.top {
		return
	}
	f.top = d.Seq
	f.missing = 0
	switch d.Type {
	case "turn_finished":
		f.status = StatusFinished
	default:
		f.status = StatusRunning
	}
}

func (f *follower) knowTurnLocked(ordinal int64, turnID string) {
	if turnID == "" || f.turns[ordinal] == turnID {
		return
	}
	if len(f.turns) >= maxKnownTurns {
		clear(f.turns)
	}
	f.turns[ordinal] = strings.Clone(turnID)
}
