package main

import (
	"cmp"
	"fmt"
	"time"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
	"turnlog/httpapi/admin"
)

// inspection is what turnlog inspect shows.
type inspection struct {
	admin.Thread
	cli    string // how redis-cli is called
	secret bool   // it needs a password
}

func say(format string, args ...any) term.Cell { return term.Cell{Text: fmt.Sprintf(format, args...)} }

func (i inspection) write(s *term.Screen) error {
	for _, part := range []func(*term.Screen) error{i.facts, i.requests, i.viewers, i.keys, i.commands} {
		if err := part(s); err != nil {
			return err
		}
	}
	return nil
}

// section writes an empty line and a heading.
func section(s *term.Screen, title string) {
	fmt.Fprintf(s, "\n%s\n", s.Paint(term.Bold, title))
}

func (i inspection) facts(s *term.Screen) error {
	var f term.Facts
	f.Add("thread", say("%s", term.Word(i.ThreadID)), say("of user %s", term.Word(i.User)))
	if i.DeletedAt != nil {
		f.Add("status", term.Cell{Text: "deleted", Style: term.Bad}, say("%s; the mark stays for 24 h", i.ago(i.DeletedAt)))
		return f.Write(s)
	}
	f.Add("status", statusCell(i.Status, i.Outcome), i.watched())
	f.Add("title", say("%s", i.Title))
	f.Add("kind", say("%s", i.Kind), i.asks(i.KindOnDisconnect))
	if i.OnDisconnect != "" {
		f.Add("policy", say("%s for turns of this thread", i.OnDisconnect))
	}
	if i.Continues != "" {
		f.Add("continues", say("%s", term.Word(i.Continues)))
	}
	if i.BranchOf != "" {
		f.Add("branch of", say("%s", term.Word(i.BranchOf)), say("behind frame %d", i.BranchSeq))
	}
	if i.CreatedAt != nil {
		f.Add("created", say("%s", i.ago(i.CreatedAt)))
	}
	if i.Turn != nil {
		i.turn(&f)
	}
	held := i.Log
	if held.Frames > 0 {
		f.Add("log", say("frames %d to %d, %s of frames, the newest is %s", held.FirstSeq, held.LastSeq, term.Bytes(held.Bytes), term.Word(held.LastType)))
	} else {
		f.Add("log", say("nothing is held; numbering goes on behind %d", held.LastSeq))
	}
	f.Add("epoch", say("%s", held.Epoch))
	f.Add("messages", say("%d", held.Messages))
	if held.Queued > 0 {
		f.Add("queued", say("%d submissions", held.Queued))
	}
	if held.Inputs > 0 {
		f.Add("inputs", say("%d of the running turn", held.Inputs))
	}
	return f.Write(s)
}

// turn adds what is known of the newest turn.
func (i inspection) turn(f *term.Facts) {
	t := i.Turn
	f.Add("turn", say("%s, number %d of the thread, from frame %d", t.TurnID, t.Ordinal, t.FirstSeq))
	if i.Status != eventlog.StatusRunning {
		f.Add("last frame", say("%s", i.ago(&t.LastFrameAt)))
		return
	}
	owner := say("%s, attempt %d", t.Owner, t.Attempt)
	if t.Owner == "" {
		owner = term.Cell{Text: "lost, about to be tried again", Style: term.Bad}
	}
	f.Add("owner", owner)
	f.Add("agent", say("%s", cmp.Or(t.Agent, "the default one")))
	f.Add("last frame", say("%s", i.ago(&t.LastFrameAt)))
	f.Add("on disconnect", say("%s", t.OnDisconnect))
	if t.Ending != "" {
		f.Add("ending", term.Cell{Text: "as " + string(t.Ending), Style: term.Warn})
	}
	for _, d := range []struct {
		label string
		at    *time.Time
		means string
	}{{"grace", t.GraceDeadline, "then it ends, unless somebody comes back"}, {"stop", t.StopDeadline, "then it is ended, if it has not by itself"}, {"max duration", t.MaxDeadline, "then it ends"}} {
		if d.at != nil {
			f.Add(d.label, term.Cell{Text: span(d.at.Sub(i.Now)) + " left,", Style: term.Warn}, say("%s", d.means))
		}
	}
	if t.StallAfter > 0 {
		f.Add("stall after", say("%s without a frame", span(time.Duration(t.StallAfter)*time.Millisecond)))
	}
}

func (i inspection) ago(at *time.Time) string { return age(i.Now.Sub(*at)) }

// watched says who watches a running turn.
func (i inspection) watched() term.Cell {
	switch {
	case i.Status != eventlog.StatusRunning:
		return term.Cell{}
	case i.Turn != nil && i.Turn.DetachedAt != nil:
		return term.Cell{Text: "(nobody watches since " + span(i.Now.Sub(*i.Turn.DetachedAt)) + ")", Style: term.Warn}
	case len(i.Viewers) == 1:
		return say("(watched on 1 node)")
	}
	return say("(watched on %d nodes)", len(i.Viewers))
}

// asks is what a kind wants of the turns of its threads.
func (i inspection) asks(policy eventlog.Policy) term.Cell {
	if policy == "" {
		return term.Cell{}
	}
	return say("(asks for %s)", policy)
}

func (i inspection) requests(s *term.Screen) error {
	if len(i.Requests) == 0 {
		return nil
	}
	section(s, "requests")
	table := term.NewTable(term.Column{Title: "REQUEST", Min: 12}, term.Column{Title: "KIND", Min: 8}, term.Column{Title: "NAME", Min: 8}, term.Column{Title: "FRAME", Right: true},
		term.Column{Title: "STATE"}, term.Column{Title: "LEFT", Right: true}, term.Column{Title: "TARGET", Min: 8, Rank: 1})
	for _, r := range i.Requests {
		state, left := r.State, "-"
		switch {
		case r.Deadline != nil:
			left = span(r.Deadline.Sub(i.Now))
		case r.Left > 0: // nobody watches: its clock stands still
			state, left = "paused", span(time.Duration(r.Left)*time.Millisecond)
		}
		table.Row(term.Word(r.RequestID), r.Kind, dash(r.Name), r.ChatSeq, state, left, dash(r.Target))
	}
	return table.Write(s)
}

func (i inspection) viewers(s *term.Screen) error {
	if len(i.Viewers) == 0 {
		return nil
	}
	section(s, "nodes with viewers")
	table := term.NewTable(term.Column{Title: "NODE", Min: 12}, term.Column{Title: "GENERATION", Right: true})
	for _, v := range i.Viewers {
		table.Row(v.Node, v.Generation)
	}
	return table.Write(s)
}

// held are the keys that exist.
func (i inspection) held() []admin.Key {
	var out []admin.Key
	for _, k := range i.Thread.Keys {
		if k.Exists {
			out = append(out, k)
		}
	}
	return out
}

func (i inspection) keys(s *term.Screen) error {
	if len(i.held()) == 0 {
		return nil
	}
	section(s, "keys (T: of the thread, U: of its user)")
	table := term.NewTable(term.Column{Title: "KEY"}, term.Column{Title: "TTL", Right: true}, term.Column{Title: "BYTES", Right: true},
		term.Column{Title: "ENTRIES", Right: true}, term.Column{Title: "HOLDS", Min: 12, Rank: 1})
	for _, k := range i.held() {
		ttl, bytes := "-", "-"
		if k.TTL != nil {
			ttl = span(time.Duration(*k.TTL) * time.Millisecond)
		}
		if k.Bytes > 0 {
			bytes = term.Bytes(k.Bytes)
		}
		table.Row(k.Name, ttl, bytes, k.Entries, k.Shows)
	}
	return table.Write(s)
}

// commands are whole however wide the screen is: they are there to be copied.
func (i inspection) commands(s *term.Screen) error {
	if len(i.held()) == 0 {
		return nil
	}
	section(s, "commands")
	if i.secret {
		fmt.Fprintln(s, "# set REDISCLI_AUTH to the password first")
	}
	for _, k := range i.held() {
		fmt.Fprintln(s, i.cli+" "+k.Command)
	}
	return nil
}
