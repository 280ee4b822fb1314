package e2e_test

import (
	"sync"
	"testing"

	"turnlog/internal/netproxy"
)

func TestB63_AnswersSurviveLostWakeUpsReconnectsAndRestartsInEveryAdapter(t *testing.T) {
	t.Parallel()
	f, err := startWorkshop(longTool, longRetention, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if bad := f.close(); bad != "" {
			t.Errorf("nodes complained:\n%s", bad)
		}
	})
	owners, others := []*netproxy.Proxy{f.nets[0], f.nets[2]}, []*netproxy.Proxy{f.nets[1], f.nets[3]}
	var lost sync.Map // owners' proxies that swallowed a wake-up
	for _, fault := range []struct {
		name          string
		before, after func() // the answer
	}{
		{"wake-up lost", func() {
			for _, net := range owners {
				net.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
					if published(piece, "turnlog:node:") {
						lost.Store(net, true)
						return netproxy.Swallow
					}
					return netproxy.Pass
				})
			}
		}, func() {}},
		{"everybody reconnects", func() {
			for _, net := range append(owners, others...) {
				net.SetFilter(nil)
				net.Cut()
			}
		}, func() {}},
		{"owner cut off", func() {
			for _, net := range owners {
				net.Refuse()
				net.Cut()
			}
		}, func() {
			for _, net := range owners {
				net.Resume()
			}
		}},
		{"follower restarts", func() {
			for _, i := range []int{1, 3} {
				f.nodes[i].kill()
				n, err := f.run[i]()
				if err != nil {
					t.Fatal(err)
				}
				f.nodes[i] = n
			}
		}, func() {}},
	} {
		type asked struct {
			row
			a        *viewer
			turn, id string
			since    object
		}
		var open []asked
		for _, x := range adapters {
			r := row{t: t, adapter: x, shop: f, user: someone()}
			q := asked{row: r, a: r.dial(0)}
			q.turn, q.since = r.say(q.a, "t", "tool")
			q.id = q.a.typed("t", "tool_call").Str("tool_call_id")
			r.dial(1).resume("t", q.since) // follows on the other node
			open = append(open, q)
		}
		fault.before()
		var answering []*viewer
		for _, q := range open {
			v := q.dial(1)
			v.answer("tool_result", noon(q.id, "1"))
			answering = append(answering, v)
		}
		for _, v := range answering {
			v.settle()
		}
		fault.after()
		for i, q := range open {
			t.Run(fault.name+"/"+q.name, func(t *testing.T) {
				q.t = t
				answering[i].resume("t", q.since)
				q.completed(q.a, "t", q.turn, "noon-1")
				q.completed(answering[i], "t", q.turn, "noon-1")
			})
		}
	}
	for _, net := range owners {
		if _, ok := lost.Load(net); !ok {
			t.Error("no wake-up was lost: nothing was tested")
		}
	}
}
