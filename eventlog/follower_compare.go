package eventlog

// adopt takes over a snapshot. The marks were taken before it was asked for:
// what arrived meanwhile is newer.
func (f *follower) adopt(s Snapshot, epochs, accepted int) {
	f.mu.Lock()
	if s.Epoch != f.epoch {
		if f.epochs != epochs {
			f.mu.Unlock()
			f.hub.suspect(f)
			return
		}
		f.setEpochLocked(s.Epoch)
	}
	if s.LastSeq >= f.top || f.accepted == accepted {
		f.status = s.Status
	}
	if s.LastSeq < f.top && f.accepted == accepted { // a failover lost the tail
		f.top = s.LastSeq
		if f.ring.last > f.top {
			f.ring.reset()
		}
	}
	raised := s.LastSeq > f.top
	f.top = max(f.top, s.LastSeq)
	if f.since = s.TurnFirstSeq; s.TurnID == "" {
		f.since = 0
	}
	f.knowTurnLocked(s.Ordinal, s.TurnID)
	for ordinal, id := range s.Turns {
		f.knowTurnLocked(ordinal, id)
	}
	f.missing = 0
	viewers := f.viewers
	f.mu.Unlock()
	if raised {
		wake(viewers)
	}
}

// compare looks at the log's own account. It reports whether the log has
// frames that did not get here (yet).
func (f *follower) compare(p Peek, epochs int) (behind bool) {
	f.mu.Lock()
	if f.epochs != epochs {
		f.mu.Unlock()
		return false
	}
	var viewers []*Viewer
	switch {
	case p.Status == StatusUnknown || p.Epoch == "":
		// Deleted, or the state is gone. A living owner rebuilds that; otherwise the turn is lost.
		f.renew = f.renew || f.status == StatusFinished
		if f.epoch != "" && f.status == StatusRunning {
			if f.missing++; f.missing >= 3 {
				f.mu.Unlock()
				f.restart()
				return false
			}
		}
	case p.Epoch != f.epoch:
		f.setEpochLocked(p.Epoch)
		f.top, f.status = p.LastSeq, p.Status
		viewers = f.viewers
	case p.LastSeq > f.top:
		behind = true
	default:
		f.missing = 0
		if p.LastSeq == f.top {
			f.status = p.Status
		}
		viewers = f.viewers // nobody may sleep on what is here
	}
	top := f.top
	f.mu.Unlock()
	for _, v := range viewers {
		if v.behind(top) {
			v.wake()
		}
	}
	return behind
}

// raise makes frames known that no live message brought; viewers read them
// from the log. It reports whether any were missed.
func (f *follower) raise(p Peek, epochs int) bool {
	f.mu.Lock()
	if f.epochs != epochs || p.LastSeq <= f.top {
		f.mu.Unlock()
		return false
	}
	f.top, f.status = p.LastSeq, p.Status
	f.renew = true // whoever appended may not know that somebody looks
	viewers := f.viewers
	f.mu.Unlock()
	wake(viewers)
	return true
}
