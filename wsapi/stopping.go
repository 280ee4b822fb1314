package wsapi

import (
	"turnlog/frame"
	"turnlog/line"
	"turnlog/session"
)

// stopping is a stop that this socket sent for a thread it follows. It is
// followed by exactly one generation_stopped here: the one that the turn's owner
// logs, or, when the turn turns out to have ended otherwise, one of our own
// behind everything that the turn still had to say.
//
// It is registered before the stop is carried out, because the turn's frames
// may overtake the answer.
type stopping struct {
	settled bool   // the stop's result is known
	turn    string // the turn that was stopped; "" = whatever the socket is being shown
	seen    string // the turn whose generation_stopped passed since
}

// expectStop registers a stop; nil when the thread is not followed.
func (f *following) expectStop() *stopping {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &stopping{}
	f.stops = append(f.stops, p)
	return p
}

// settleStop tells what the stop met. True: send the unnumbered frame now,
// nothing else will come.
func (f *following) settleStop(p *stopping, asked string, r session.StopResult) (now bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.settled, p.turn = true, asked
	if r.Stopped {
		p.turn = r.TurnID
	}
	switch {
	case p.seen != "" && (p.turn == "" || p.seen == p.turn):
		now = false
	case r.Stopped && f.turn.finished != r.TurnID:
		return false // it will say so, or end otherwise
	case r.Stopped:
		now = true
	case f.idleLocked(), asked != "" && asked != f.turn.id && f.replay.header == nil:
		now = true
	default:
		return false // the end of what is being shown is still on its way
	}
	f.dropStop(p)
	return now
}

// dropStop forgets a stop. Locked.
func (f *following) dropStop(p *stopping) {
	for i, q := range f.stops {
		if p == q {
			f.stops = append(f.stops[:i], f.stops[i+1:]...)
			return
		}
	}
}

// cancelStop takes back a stop that failed.
func (f *following) cancelStop(p *stopping) {
	if p == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropStop(p)
}

// sawStopped notes a generation_stopped on its way to the client. Locked.
func (f *following) sawStopped(turnID string) {
	left := f.stops[:0]
	for _, p := range f.stops {
		p.seen = turnID
		if !p.settled || p.turn != "" && p.turn != turnID {
			left = append(left, p)
		}
	}
	f.stops = left
}

// sawFinished answers the stops that the turn's end left without one. Locked.
func (f *following) sawFinished(lines []line.Line, turnID string) []line.Line {
	return f.answerStops(lines, func(p *stopping) bool { return p.turn == "" || p.turn == turnID })
}

// replayedStops answers stops whose turn is over according to the header of the
// replay that has just ended. Locked.
func (f *following) replayedStops(lines []line.Line) []line.Line {
	return f.answerStops(lines, func(p *stopping) bool {
		return !f.turn.running || p.turn != "" && p.turn != f.turn.id
	})
}

func (f *following) answerStops(lines []line.Line, over func(*stopping) bool) []line.Line {
	left := f.stops[:0]
	for _, p := range f.stops {
		if p.settled && over(p) {
			lines = append(lines, line.Line{Own: stoppedFrame(f.thread.ID)})
		} else {
			left = append(left, p)
		}
	}
	f.stops = left
	return lines
}

// stoppedFrame is the unnumbered generation_stopped.
func stoppedFrame(threadID string) []byte {
	o := extend(frame.GenerationStopped("Generation stopped by user"))
	if threadID == "" {
		return o.null("thread_id").end()
	}
	return o.text("thread_id", threadID).end()
}
