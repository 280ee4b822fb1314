package session

import (
	"context"
	"sync"

	"turnlog/agent"
)

// mailbox hands inputs to the agent one by one. An input counts as taken only
// when the agent has received it. The log bounds how many inputs a turn holds.
type mailbox struct {
	out chan agent.Input

	mu      sync.Mutex
	queue   []letter
	started chan struct{}
	arrived chan struct{}
}

type letter struct {
	seq   int64
	input agent.Input
}

func (m *mailbox) init() {
	m.out = make(chan agent.Input)
	m.arrived = make(chan struct{}, 1)
}

// put queues a letter; the first one starts the carrier, which ends with ctx.
func (m *mailbox) put(ctx context.Context, l letter, taken func(seq int64)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(m.queue, l)
	if m.started == nil {
		m.started = make(chan struct{})
		go m.carry(ctx, m.started, taken)
	}
	select {
	case m.arrived <- struct{}{}:
	default:
	}
}

func (m *mailbox) carry(ctx context.Context, done chan<- struct{}, taken func(seq int64)) {
	defer close(done)
	for {
		l, ok := m.next()
		if !ok {
			select {
			case <-m.arrived:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case m.out <- l.input:
			taken(l.seq)
		case <-ctx.Done():
			return
		}
	}
}

func (m *mailbox) next() (letter, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return letter{}, false
	}
	l := m.queue[0]
	m.queue = m.queue[1:]
	return l, true
}

// wait waits for the carrier, whose context must have ended.
func (m *mailbox) wait() {
	m.mu.Lock()
	started := m.started
	m.mu.Unlock()
	if started != nil {
		<-started
	}
}
