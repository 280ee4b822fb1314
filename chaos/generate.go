package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"turnlog/chaos/verify"
)

// Generate makes the schedule of a seed.
func Generate(seed uint64, size Size) *Schedule {
	d := newDice(seed, 1)
	s := &Schedule{
		Seed: seed, Length: size.Length, Lease: 2 * time.Second, Heartbeat: 500 * time.Millisecond,
		Grace: d.between(time.Second, 3*time.Second), OwnerLost: d.one("fail", "restart"),
	}
	for i := range size.Viewers {
		thread := i % size.Threads
		v := ViewerPlan{
			Name: fmt.Sprintf("v%d", i), User: fmt.Sprintf("u%d", thread%4), Thread: fmt.Sprintf("t%d", thread),
			Client: i/2%2 == 1, Lives: lives(d, size.Length),
		}
		if i < size.Threads {
			v.Acts = acts(d, v.Name, size.Length)
		}
		s.Viewers = append(s.Viewers, v)
	}
	for range 64 {
		cut := int64(-1)
		if d.chance(0.5) {
			cut = 200 + d.Int64N(20000)
		}
		s.Cuts = append(s.Cuts, cut)
	}
	s.faults(d)
	return s
}

// lives are enough for the whole storm; the last one is cut short by its end.
func lives(d dice, length time.Duration) (out []Life) {
	for at := time.Duration(0); at < length; {
		l := Life{Node: d.IntN(Nodes), Stay: d.between(300*time.Millisecond, 6*time.Second), Away: d.between(0, time.Second)}
		if d.chance(0.15) {
			l.Away = d.between(time.Second, 6*time.Second)
		}
		l.Fresh, l.Goodbye = d.chance(0.1), d.chance(0.2)
		at += l.Stay + l.Away
		out = append(out, l)
	}
	return out
}

func acts(d dice, name string, length time.Duration) (out []Act) {
	// Some threads are quiet: no stop and no superseding, so that nothing may be missing there.
	quiet := d.chance(0.3)
	n := 0
	for at := d.between(0, 2*time.Second); at < length; at += d.between(200*time.Millisecond, 5*time.Second) {
		n++
		a := Act{At: at, ID: fmt.Sprintf("%s-%d", name, n), Verb: Say, Busy: "enqueue", Policy: d.one("", "grace", "preserve", "preserve")}
		switch p := d.Float64(); {
		case p < 0.12 && n > 1:
			a.Verb = Steer
		case p < 0.17 && n > 1:
			a.Verb = SetPolicy
		case p < 0.27 && n > 1 && !quiet:
			a.Verb = Stop
		default:
			if !quiet {
				a.Busy = d.one("supersede", "supersede", "enqueue", "enqueue", "reject")
				a.Policy = d.one("", "", "grace", "preserve", "cancel")
			}
			a.Script = script(d)
		}
		out = append(out, a)
	}
	return out
}

func script(d dice) verify.Script {
	s := verify.Script{Frames: 5 + d.IntN(60), Interval: float64(10 + d.IntN(60)), Bytes: d.IntN(120)}
	if d.chance(0.1) {
		s.Frames, s.Interval = 400, 1
	}
	if d.chance(0.3) {
		s.Checkpoint = 1 + d.IntN(10)
	}
	if d.chance(0.2) {
		s.Tool = &verify.Ask{Name: "lookup", At: 1 + d.IntN(s.Frames)}
	}
	if d.chance(0.2) {
		s.Approval = &verify.Ask{ToolName: "write", At: 1 + d.IntN(s.Frames)}
	}
	if d.chance(0.05) {
		s.FailAt = 1 + d.IntN(s.Frames)
	}
	return s
}

// faults fills one lane per node, one for Redis as a whole, one for sockets. Faults
// of a lane do not overlap; lanes do as they like.
func (s *Schedule) faults(d dice) {
	last := s.Length - 500*time.Millisecond
	lane := func(pause time.Duration, draw func(at time.Duration) Fault) {
		for at := d.between(pause/4, pause); at < last; {
			f := draw(at)
			f.At, f.For = at, min(f.For, last-at)
			s.Faults = append(s.Faults, f)
			at = f.end() + d.between(pause/3, pause)
		}
	}
	for node := range Nodes {
		lane(6*time.Second, func(time.Duration) Fault { return s.nodeFault(d, node) })
	}
	lane(12*time.Second, func(time.Duration) Fault {
		switch p := d.Float64(); {
		case p < 0.3:
			return Fault{Kind: ScriptFlush}
		case p < 0.6:
			return Fault{Kind: Outage, For: d.between(s.Lease/4, s.Lease*3/4)}
		case p < 0.8:
			return Fault{Kind: Outage, For: d.between(s.Lease*5/4, s.Lease*3)}
		}
		return Fault{Kind: Refusal, For: d.between(s.Lease/4, s.Lease*2)}
	})
	lane(4*time.Second, func(time.Duration) Fault {
		f := Fault{Node: d.IntN(Nodes), Kind: FaultKind(d.one(string(CutSockets), string(HalfOpen), string(HoldSockets)))}
		if f.Kind == HoldSockets {
			f.For = d.between(200*time.Millisecond, 2*time.Second)
		}
		return f
	})
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
}

func (s *Schedule) nodeFault(d dice, node int) Fault {
	f := Fault{Node: node}
	switch p := d.Float64(); {
	case p < 0.2:
		f.Kind, f.For = Kill, d.between(100*time.Millisecond, s.Lease*2)
	case p < 0.3:
		f.Kind, f.For = Term, d.between(0, time.Second)
	case p < 0.4:
		f.Kind, f.For = Pause, d.between(s.Lease/10, s.Lease/2)
	case p < 0.55:
		f.Kind, f.For = Pause, d.between(s.Lease*3/2, s.Lease*3)
	case p < 0.65:
		f.Kind, f.For = Isolate, d.between(s.Lease/4, s.Lease*3)
	case p < 0.75:
		f.Kind = CutRedis
	case p < 0.85:
		f.Kind, f.For, f.Rate = DropReplies, d.between(time.Second, 3*time.Second), 0.005+0.03*d.Float64()
	case p < 0.93:
		f.Kind, f.For, f.Rate = DropPublished, d.between(time.Second, 3*time.Second), 0.1+0.4*d.Float64()
	default:
		f.Kind, f.For = Slow, d.between(time.Second, 3*time.Second)
	}
	return f
}
