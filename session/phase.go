package session

import "turnlog/eventlog"

// phase is where a running turn stands on its owner.
type phase int

const (
	running   phase = iota // the agent speaks
	winding                // we end the turn: the agent was told, its frames are refused
	lost                   // others ended the turn: the agent was told
	finishing              // the agent is done or abandoned: the closing frames are being written
	settled                // nothing is left to do
)

// event is what happens to a turn.
type event struct {
	kind    eventKind
	outcome eventlog.Outcome // of ended, fenced
}

type eventKind int

const (
	evNothing   eventKind = iota
	evReturned            // the agent returned (outcome completed or failed)
	evEnd                 // we are to end the turn: outcome stopped or shutdown
	evFenced              // the turn is no longer ours; outcome as far as known
	evOutage              // Redis stayed away for longer than the outage budget
	evAbandoned           // the agent did not return within the stop timeout
	evClosed              // the closing frames are written, or somebody else's are
)

// action is what the caller has to do after an event.
type action struct {
	cancel  bool // tell the agent that the turn ended with machine.outcome
	stopped bool // log leftovers and generation_stopped now
	yield   bool // the log is fenced for machine.outcome: try to write the closing frames, so that nobody else need
	finish  bool // write the closing frames for machine.outcome
}

// machine decides; it does no I/O and knows no time.
type machine struct {
	phase   phase
	outcome eventlog.Outcome // "" while running
}

// step takes an event. Events that change nothing return the zero action, so
// each action is asked for at most once in a turn's life.
func (m *machine) step(ev event) action {
	switch m.phase {
	case running:
		return m.whileRunning(ev)
	case winding:
		switch ev.kind {
		case evReturned, evAbandoned:
			m.phase = finishing
			return action{finish: true}
		case evFenced:
			m.phase, m.outcome = lost, ev.outcome
			return action{yield: ev.outcome != eventlog.OutcomeOwnerLost}
		}
	case lost:
		if ev.kind == evReturned || ev.kind == evAbandoned {
			m.phase = settled
		}
	case finishing:
		if ev.kind == evClosed {
			m.phase = settled
		}
	}
	return action{}
}

func (m *machine) whileRunning(ev event) action {
	switch ev.kind {
	case evReturned:
		m.phase, m.outcome = finishing, ev.outcome
		return action{finish: true}
	case evEnd:
		m.phase, m.outcome = winding, ev.outcome
		return action{cancel: true, stopped: ev.outcome == eventlog.OutcomeStopped}
	case evOutage:
		m.phase, m.outcome = winding, eventlog.OutcomeFailed
		return action{cancel: true}
	case evFenced:
		m.phase, m.outcome = lost, ev.outcome
		return action{cancel: true, yield: ev.outcome != eventlog.OutcomeOwnerLost}
	}
	return action{}
}
