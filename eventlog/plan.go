package eventlog

// plan decides where a viewer with this cursor starts and what its header
// says. It is pure: everything it knows is in the snapshot. The first frame
// delivered will be start; a live cursor gets a start and a header that
// nobody is shown. Header.Thread is left to the caller.
func plan(s Snapshot, c Cursor) (start int64, h Header) {
	h = Header{
		Status:        s.Status,
		LastSeq:       s.LastSeq,
		Epoch:         s.Epoch,
		TurnID:        s.TurnID,
		Outcome:       s.Outcome,
		Policy:        s.Policy,
		GraceDeadline: s.GraceDeadline,
	}
	next := s.LastSeq + 1 // the first number that is not there yet
	switch {
	case s.Status != StatusRunning && s.Status != StatusFinished:
		return next, Header{Status: StatusUnknown, Epoch: s.Epoch, Policy: s.Policy}
	case c.Live:
		return next, h
	case c.Full:
		start = 1
		h.ReplayIncomplete = s.FirstHeld != 1
	case fresh(s, c):
		start = max(s.TurnFirstSeq, s.LastMessageSeq+1)
		h.ReplayIncomplete = true
	default:
		start = c.LastSeq + 1
		h.ReplayIncomplete = start < next && !held(s, start) || !idles(s, c)
	}
	if !held(s, start) {
		start = next
		if s.FirstHeld > 0 {
			start = s.FirstHeld
		}
	}
	start = min(start, next)
	if h.ReplayCount = next - start; h.ReplayCount > 0 {
		h.FirstSeq = start
	}
	h.Unnumbered = unnumbered(s, c, start)
	return start, h
}

// fresh reports whether the cursor tells nothing about this log.
func fresh(s Snapshot, c Cursor) bool {
	switch {
	case c.LastSeq <= 0, c.LastSeq > s.LastSeq:
		return true
	case c.Epoch != "":
		return c.Epoch != s.Epoch
	default:
		// Without an epoch a number from before this turn may mean anything.
		return c.LastSeq < s.TurnFirstSeq-1
	}
}

// held reports whether the log still has everything from this number on.
func held(s Snapshot, start int64) bool {
	return s.FirstHeld > 0 && start >= s.FirstHeld || start > s.LastSeq
}

// idles reports whether a replay leaves the client in the right state. Clients
// without epochs become idle by the chunk with done, the last but one frame of
// a finished turn.
func idles(s Snapshot, c Cursor) bool {
	return s.Status == StatusRunning || c.Epoch != "" || c.LastSeq < s.LastSeq-1
}

// unnumbered picks the open requests from before the replay. A client with an
// epoch gets all of them, because its answers may have died with its socket;
// another one only those that it cannot have seen.
func unnumbered(s Snapshot, c Cursor, start int64) []OpenRequest {
	var out []OpenRequest
	for _, r := range s.Open {
		seen := c.Epoch == "" && c.LastSeq <= s.LastSeq && r.Seq <= c.LastSeq
		if r.Seq < start && !seen {
			out = append(out, r)
		}
	}
	return out
}

// ahead reports whether the cursor is beyond a running log: its owner may just
// be repairing what a failover lost.
func ahead(s Snapshot, c Cursor) bool {
	return s.Status == StatusRunning && !c.Live && !c.Full && c.LastSeq > s.LastSeq &&
		(c.Epoch == "" || c.Epoch == s.Epoch)
}
