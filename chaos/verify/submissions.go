package verify

import (
	"slices"
	"strings"
)

// submissions: an acknowledged one became exactly one turn.
func (c *checker) submissions() {
	turns := map[string][]*ran{}
	for _, t := range c.ran {
		if t.submission != "" {
			turns[t.submission] = append(turns[t.submission], t)
		}
	}
	for _, s := range c.thread.Submissions {
		became := turns[s.ID]
		switch {
		case len(became) > 1:
			c.found(DoubleTurn, "submission %s became %s and %s", s.ID, became[0].id, became[1].id)
		case len(became) == 0 && s.Acked && !c.dropped(s):
			c.found(LostTurn, "submission %s was acknowledged as turn %s", s.ID, s.TurnID)
		case len(became) == 1 && s.Acked && s.TurnID != "" && became[0].id != s.TurnID:
			c.found(DoubleTurn, "submission %s was acknowledged as turn %s and is turn %s", s.ID, s.TurnID, became[0].id)
		}
	}
	c.steers()
}

// dropped: a queued submission may be dropped by a stop, or because its viewer left.
func (c *checker) dropped(s *Submission) bool {
	return s.Queued && (c.thread.Stops > 0 || s.Policy == "cancel")
}

// steers: heard once, as an aside or as a turn. Their texts are unique; their ids may be the client's own.
func (c *checker) steers() {
	quiet := c.thread.Stops == 0 && !slices.ContainsFunc(c.ran, func(t *ran) bool { return t.outcome != "completed" })
	for _, s := range c.thread.Steers {
		heard := 0
		for _, t := range c.ran {
			if t.message == s.Text {
				heard++
			}
			for _, text := range t.steers {
				if strings.TrimSpace(text) == s.Text {
					heard++
				}
			}
		}
		switch {
		case heard > 1:
			c.found(SteerTwice, "steer %s was heard %d times", s.ID, heard)
		case heard == 0 && s.Acked && quiet:
			c.found(SteerLost, "steer %s was acknowledged and never heard", s.ID)
		}
	}
}

// watched: attaching takes a turn's grace away. A socket that saw the agent speak
// after its header was attached before any fence, so that the turn cannot end as
// detached before this socket has left, unless its node lost its standing.
func (c *checker) watched() {
	for _, v := range c.thread.Viewers {
		for n, s := range v.Sockets {
			var h *Header
			spoke := ""
			for _, e := range s.Events {
				switch {
				case e.Header != nil:
					h, spoke = e.Header, ""
				case e.Frame == nil || h == nil || e.Frame.Seq <= h.LastSeq:
				case e.Frame.Type == "chunk" && e.Frame.str("content") != "":
					spoke = e.Frame.Turn
				case e.Frame.Type == "turn_finished" && e.Frame.str("outcome") == "detached" && spoke == e.Frame.Turn && !c.doubtful(s):
					c.found(DetachedWatched, "%s socket %d on node %d: %s", v.Name, n, s.Node, e.Frame)
				}
			}
		}
	}
}

// doubtful: the socket's node may have been buried during its life.
func (c *checker) doubtful(s *Socket) bool {
	for _, w := range c.history.Lethal {
		if w.Node == s.Node && w.From.Before(s.Closed) && w.To.After(s.Opened) {
			return true
		}
	}
	return false
}
