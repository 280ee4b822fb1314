package client

import (
	"sync"
	"time"
)

// probeTime is how long a connection in doubt has to say something.
const probeTime = 5 * time.Second

// pulse cuts a connection that says nothing for too long while it is read from.
type pulse struct {
	silence time.Duration
	cut     func()

	mu     sync.Mutex
	timer  *time.Timer // runs while the peer is listened to, else nil
	silent bool
}

// listen begins to wait for the peer.
func (p *pulse) listen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(p.silence, p.over)
}

// heard ends the wait: a slow callback is not a silent server. It says whether the
// peer was silent for too long.
func (p *pulse) heard() (silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.timer = nil
	return p.silent
}

// probe leaves the peer little time; false when it is not listened to, because it
// has just said something.
func (p *pulse) probe() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return false
	}
	p.timer.Reset(min(probeTime, p.silence/2))
	return true
}

func (p *pulse) over() {
	p.mu.Lock()
	p.silent = p.timer != nil // else it was heard at the last moment
	silent := p.silent
	p.mu.Unlock()
	if silent {
		p.cut()
	}
}
