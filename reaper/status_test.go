package reaper_test

import (
	"errors"
	"testing"
	"time"

	"turnlog/eventlog"
)

func TestStatusTellsHowTheReaperFares(t *testing.T) {
	log := &fakeLog{due: []eventlog.Thread{{User: "u", ID: "a"}}, nodes: []eventlog.NodeState{{ID: "gone", Past: true, Dead: true}}}
	r := newReaper(t, log, trusted(10*time.Second, 3*time.Second))
	if err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.Leads || !s.LastPass.IsZero() || s.Err != nil || s.NodesBuried != 0 || len(s.TurnsEnded) != 0 {
		t.Errorf("another one leads: %+v", s)
	}
	log.leads = true
	if err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := r.Status()
	if !first.Leads || first.LastPass.IsZero() || first.NodesBuried != 1 || first.TurnsEnded[eventlog.OutcomeOwnerLost] == 0 {
		t.Errorf("after a round: %+v", first)
	}
	log.failing = errors.New("broken thread")
	if err := r.RunOnce(t.Context()); err == nil {
		t.Fatal("the round did not fail")
	}
	if s := r.Status(); s.Err == nil || !s.LastPass.Equal(first.LastPass) {
		t.Errorf("after a round that failed: %+v", s)
	}
	first.TurnsEnded["mine"] = 1
	if r.Status().TurnsEnded["mine"] != 0 {
		t.Error("a status is shared")
	}
}
