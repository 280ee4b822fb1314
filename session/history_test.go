package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

const announcing = `{"type":"message","role":"assistant","content":"look","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]}`

// recalled is what an agent is told, briefly: the content, or the call a tool row answers.
func recalled(rows []json.RawMessage) string {
	var out []string
	for _, raw := range rows {
		var r struct {
			Content    string
			ToolCallID string `json:"tool_call_id"`
			StandIn    bool   `json:"stand_in"`
		}
		_ = json.Unmarshal(raw, &r)
		switch {
		case r.StandIn:
			r.Content = "?" + r.ToolCallID
		case r.ToolCallID != "":
			r.Content = "=" + r.ToolCallID
		}
		out = append(out, r.Content)
	}
	return strings.Join(out, " ")
}

func TestB49_HistoryOfABranchAnswersWhatItsParentHadNotYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
			var got []string
			for _, limit := range []int{0, 3, 1} {
				rows, err := turn.History(ctx, limit)
				if err != nil {
					return err
				}
				if limit > 0 && len(rows) > limit {
					t.Errorf("%d rows of %d", len(rows), limit)
				}
				got = append(got, recalled(rows))
			}
			return emit(ctx, turn, chunk(strings.Join(got, " | ")), `{"type":"message","role":"assistant","content":"said"}`)
		})
		log.mu.Lock()
		parent, branch := log.thread(eventlog.Thread{User: "alice", ID: "p"}), log.thread(thread)
		for i, row := range []string{`{"role":"user","content":"go"}`, announcing, `{"type":"message","role":"tool","tool_call_id":"c1","content":"r"}`,
			`{"type":"message","role":"tool","tool_call_id":"c2","content":"late"}`} {
			parent.messages = append(parent.messages, eventlog.Message{Seq: int64(i + 1), Epoch: "e1", Row: []byte(row)})
		}
		branch.parent, branch.upTo = "p", 3
		log.mu.Unlock()
		log.fail("history", 2, false) // a short outage is waited for
		n := startNode(t, log, ag, session.Options{})
		n.submit("first")
		time.Sleep(5 * time.Second)
		settle()
		n.submit("second")
		settle()
		var said []string
		for _, s := range log.brief(thread) {
			if text, ok := strings.CutPrefix(s, "chunk "); ok && text != "done" {
				said = append(said, text)
			}
		}
		want := []string{
			"go look =c1 ?c2 | look =c1 ?c2 | ", // no result and no stand-in of a call that is not shown
			"go look =c1 ?c2 first said | first said | said",
		}
		if fmt.Sprint(said) != fmt.Sprint(want) {
			t.Errorf("agents were told\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		n.stop()
	})
}

func TestB49_HistoryOfContinuedAndBranchedThreads_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		ask, done := make(chan struct{}), make(chan struct{})
		ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
			rows, err := turn.History(ctx, 0)
			if err != nil {
				return err
			}
			if err := emit(ctx, turn, chunk(recalled(rows))); err != nil || text(turn.Info().Message) != "tools" {
				return err
			}
			if err := emit(ctx, turn, announcing, `{"type":"message","role":"tool","tool_call_id":"c1","content":"r"}`); err != nil {
				return err
			}
			close(ask)
			select {
			case <-done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return emit(ctx, turn, `{"type":"message","role":"tool","tool_call_id":"c2","content":"r"}`, `{"type":"message","role":"assistant","content":"seen"}`)
		})
		n := startReal(t, addr, ag, session.Options{})
		told := func(id, want string) {
			t.Helper()
			want = `"content":"` + want + `"`
			await(t, id+" is told "+want, func() bool {
				frames, err := n.log.Frames(t.Context(), eventlog.Thread{User: "alice", ID: id}, 0, 0, 1000, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range frames {
					if f.Type == "chunk" && strings.Contains(string(f.Frame), want) {
						return true
					}
				}
				return false
			})
		}
		create := func(id string, m eventlog.ThreadMeta) {
			t.Helper()
			if err := n.log.SetThread(t.Context(), eventlog.Thread{User: "alice", ID: id}, m); err != nil {
				t.Fatal(err)
			}
		}
		n.submit("tools")
		<-ask
		await(t, "the first result", func() bool {
			rows, err := n.log.Messages(t.Context(), thread, 0, 0)
			return err == nil && len(rows) == 3
		})
		create("cut", eventlog.ThreadMeta{BranchOf: "t1"})
		create("early", eventlog.ThreadMeta{BranchOf: "t1", BranchSeq: 1})
		close(done)
		await(t, "the end", func() bool { return strings.HasSuffix(n.shape(), "turn_finished:completed") })
		create("next", eventlog.ThreadMeta{Continues: "t1"})
		create("new", eventlog.ThreadMeta{Continues: "t1", BranchSeq: -1})

		n.submit("more", onThread("cut"))
		told("cut", "tools look =c1 ?c2")
		n.submit("more", onThread("early"))
		told("early", "tools")
		n.submit("more", onThread("next"))
		told("next", "tools look =c1 =c2 seen")
		n.submit("more", onThread("new"))
		told("new", "")
		await(t, "the end of cut", func() bool { return n.RunningHere() == 0 })
		create("leaf", eventlog.ThreadMeta{BranchOf: "cut"})
		if _, err := n.log.Delete(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
		n.submit("again", onThread("leaf")) // the root is gone: history is shorter, no error
		told("leaf", "more")
	})
}
