package verify

// sockets checks the numbering of every socket by itself, and what the client
// package passed on.
func (c *checker) sockets() {
	for _, v := range c.thread.Viewers {
		for i, s := range v.Sockets {
			c.socket(v, i, s)
		}
		c.told(v)
		c.arrived(v)
	}
}

// socket: between two headers +1; a header tells the truth about what follows.
func (c *checker) socket(v *Viewer, n int, s *Socket) {
	next := int64(0) // 0 = free
	var asked *Cursor
	for _, e := range s.Events {
		switch {
		case e.Resume != nil:
			asked = e.Resume
		case e.Header != nil:
			next = c.header(v, n, e.Header, asked)
			asked = nil
		case e.Frame == nil || e.Frame.Seq == 0:
		case next > 0 && e.Frame.Seq > next:
			c.found(Gap, "%s socket %d: %d missing before %s", v.Name, n, next, e.Frame)
			next = e.Frame.Seq + 1
		case next > 0 && e.Frame.Seq < next:
			c.found(Repeat, "%s socket %d: expected %d, got %s", v.Name, n, next, e.Frame)
			next = e.Frame.Seq + 1
		default:
			next = e.Frame.Seq + 1
		}
	}
}

// header returns the number that must follow it.
func (c *checker) header(v *Viewer, n int, h *Header, asked *Cursor) int64 {
	if h.Status == "unknown" {
		if h.LastSeq != 0 || h.ReplayCount != 0 {
			c.found(BadHeader, "%s socket %d: unknown with a replay: %+v", v.Name, n, *h)
		}
		return 0
	}
	start := h.LastSeq + 1
	if h.ReplayCount > 0 {
		start = h.FirstSeq
		if h.FirstSeq+h.ReplayCount-1 != h.LastSeq {
			c.found(BadHeader, "%s socket %d: the replay does not end at last_seq: %+v", v.Name, n, *h)
		}
	}
	// Nothing is trimmed and Redis loses nothing: a cursor is good for ever.
	if asked != nil && asked.LastSeq > 0 && asked.Epoch == h.Epoch {
		switch {
		case h.Incomplete:
			c.found(BadHeader, "%s socket %d: incomplete behind %d, which is held: %+v", v.Name, n, asked.LastSeq, *h)
		case start > asked.LastSeq+1:
			c.found(Gap, "%s socket %d: asked for what follows %d, header %+v", v.Name, n, asked.LastSeq, *h)
		case start <= asked.LastSeq:
			c.found(Repeat, "%s socket %d: asked for what follows %d, header %+v", v.Name, n, asked.LastSeq, *h)
		}
	}
	return start
}

// told: the client passes on every number once and in order across sockets; only
// an incomplete header excuses a hole.
func (c *checker) told(v *Viewer) {
	cursor, free := int64(0), true
	for _, e := range v.Told {
		switch {
		case e.Header != nil:
			free = free || e.Header.Incomplete || e.Header.Status == "unknown"
		case e.Frame == nil || e.Frame.Seq == 0:
		case e.Frame.Seq <= cursor:
			c.found(Repeat, "%s was told again after %d: %s", v.Name, cursor, e.Frame)
		case e.Frame.Seq > cursor+1 && !free:
			c.found(Gap, "%s was told after %d: %s", v.Name, cursor, e.Frame)
			cursor = e.Frame.Seq
		default:
			cursor, free = e.Frame.Seq, false
		}
	}
}

// arrived: a viewer that was attached at the end has come to the log's end.
func (c *checker) arrived(v *Viewer) {
	if len(c.thread.Log) == 0 || len(v.Sockets) == 0 {
		return
	}
	last := c.thread.Log[len(c.thread.Log)-1].Seq
	if at := v.Sockets[len(v.Sockets)-1].position(); at < last {
		c.found(StuckViewer, "%s ended at %d, the log at %d", v.Name, at, last)
	}
	if at := (&Socket{Events: v.Told}).position(); len(v.Told) > 0 && at < last {
		c.found(StuckViewer, "%s was told up to %d, the log ends at %d", v.Name, at, last)
	}
}

// position is the highest number that the socket has dealt with.
func (s *Socket) position() (at int64) {
	for _, e := range s.Events {
		switch {
		case e.Resume != nil:
			at = max(at, e.Resume.LastSeq)
		case e.Header != nil && e.Header.ReplayCount == 0:
			at = max(at, e.Header.LastSeq)
		case e.Frame != nil:
			at = max(at, e.Frame.Seq)
		}
	}
	return at
}

// requests may be shown as something else: to viewers that are not the target, and
// once they are answered.
var requests = map[string]string{
	"tool_call": "tool_call_id", "tool_approval_request": "approval_id", "plan_approval_request": "approval_id", "secret_request": "approval_id",
}

// contents: a number has one content, that of the log.
func (c *checker) contents() {
	log := map[int64]*Frame{}
	for i, f := range c.thread.Log {
		log[f.Seq] = f
		if i > 0 && f.Seq != c.thread.Log[i-1].Seq+1 {
			c.found(Gap, "the log: %d follows %d", f.Seq, c.thread.Log[i-1].Seq)
		}
	}
	known, told := len(log) > 0, map[int64]bool{}
	see := func(v *Viewer, f *Frame) {
		truth := log[f.Seq]
		switch {
		case truth == nil && known:
			if !told[f.Seq] {
				c.found(NotInLog, "%s saw %s", v.Name, f)
			}
			told[f.Seq] = true
		case truth == nil:
			log[f.Seq] = f
		case !same(truth, f) && !same(f, truth) && !told[f.Seq]:
			told[f.Seq] = true
			c.found(TwoContents, "%s saw %s, others %s", v.Name, f, truth)
		}
	}
	for _, v := range c.thread.Viewers {
		for _, s := range v.Sockets {
			for _, e := range s.Events {
				if e.Frame != nil && e.Frame.Seq > 0 {
					see(v, e.Frame)
				}
				if e.Header != nil && e.Header.Epoch != "" && c.thread.Epoch != "" && e.Header.Epoch != c.thread.Epoch {
					c.found(NewEpoch, "%s saw %s, now it is %s", v.Name, e.Header.Epoch, c.thread.Epoch)
				}
			}
		}
	}
}

// same says whether seen is the frame, or what stands in for a request.
func same(truth, seen *Frame) bool {
	if truth == seen || (truth.Body == seen.Body && truth.Turn == seen.Turn) {
		return true
	}
	key, request := requests[truth.Type]
	return request && truth.Turn == seen.Turn && (seen.Type == "request_open" || seen.Type == "request_closed") && seen.str("request_id") == truth.str(key)
}
