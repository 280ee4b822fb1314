package session_test

import (
	"context"
	"testing"
	"testing/synctest"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

// F35, B23: the last viewer leaves between the agent's last word and the end.
func TestF35_ATurnThatIsFencedAsItEndsIsEndedAtOnce(t *testing.T) {
	for _, outcome := range []eventlog.Outcome{eventlog.OutcomeDetached, eventlog.OutcomeTimedOut} {
		t.Run(string(outcome), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
					if err := emit(ctx, turn, chunk("all")); err != nil {
						return err
					}
					log.mu.Lock()
					log.thread(thread).fence = outcome // nobody has told the owner yet
					log.mu.Unlock()
					return nil
				}), session.Options{})
				n.submit("go")
				settle()
				if got := ends(log, thread); len(got) != 1 || got[0] != string(outcome) {
					t.Errorf("the turn ended as %v:\n%v", got, log.brief(thread))
				}
				n.stop()
			})
		})
	}
}
