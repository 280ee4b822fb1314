package client

import "slices"

// sent is a message of the user on its way; retried says that it was written on an
// earlier connection.
type (
	sent    struct{}
	retried struct{}
)

func (sent) take(t *thread) effects {
	t.sending++
	return effects{}
}

func (retried) take(t *thread) effects {
	t.tried = true
	return effects{}
}

// accepted and refused are the acknowledgements of a message.
type (
	accepted struct{ Ack }
	refused  struct{}
)

func (in accepted) take(t *thread) effects {
	t.settle()
	known := t.knows(in.TurnID)
	renumbered := in.Epoch != "" && t.epoch != "" && in.Epoch != t.epoch
	if in.Epoch != "" && t.epoch == "" {
		t.epoch = in.Epoch
	}
	switch {
	case renumbered, in.Duplicate && !known: // only a header can put us in step
		t.running = t.running || !in.Duplicate
		return effects{resume: !t.syncing}
	case in.Position > 0 && !known:
		t.queued = append(slices.Clip(without(t.queued, in.TurnID)), in.TurnID)
	case !known && !in.Duplicate:
		t.running, t.turnID = true, in.TurnID
	}
	return effects{}
}

func (refused) take(t *thread) effects {
	t.settle()
	return effects{}
}

// settle counts a message that has its answer.
func (t *thread) settle() {
	t.sending = max(0, t.sending-1)
	t.tried = t.tried && t.sending > 0
}

// followed is the acknowledgement of a follow.
type followed struct{ Ack }

func (in followed) take(t *thread) effects {
	t.open, t.positioned = true, true
	if in.Epoch != t.epoch || in.LastSeq > t.cursor {
		t.epoch, t.cursor = in.Epoch, in.LastSeq
	}
	t.running = in.Status == StatusRunning
	return effects{}
}
