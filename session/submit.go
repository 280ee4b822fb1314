package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"turnlog/closing"
	"turnlog/eventlog"
)

// superseding is tried this often; each try may meet another running turn.
const maxSupersedes = 16

// Submit admits a turn and, when it starts at once, runs it here. Idempotent
// by s.ID. While Redis does not answer the same call is repeated, with the same
// ids, for up to Options.AdmitBudget. Errors are *Refusal (nothing was stored,
// as far as the log could tell) or the end of ctx.
func (s *Service) Submit(ctx context.Context, sub Submit) (eventlog.Admission, error) {
	submission, err := s.submission(ctx, sub)
	if err != nil {
		return eventlog.Admission{}, err
	}
	return s.admit(ctx, sub, submission)
}

// submission validates a Submit and mints its turn id.
func (s *Service) submission(ctx context.Context, sub Submit) (eventlog.Submission, error) {
	name := sub.Agent
	if name == "" && s.opts.AgentOf != nil {
		err := retry(ctx, s.opts.AdmitBudget, func(ctx context.Context) (err error) {
			name, err = s.opts.AgentOf(ctx, sub)
			return err
		})
		if err != nil {
			return eventlog.Submission{}, refuse(ctx, err)
		}
	}
	ag := s.agentFor(name)
	if ag == nil {
		return eventlog.Submission{}, s.refuseAgent(name)
	}
	row, err := messageRow(sub.Message, sub.Data, sub.ID)
	if err != nil {
		return eventlog.Submission{}, err
	}
	return eventlog.Submission{
		TurnID: newTurnID(time.Now()), ID: sub.ID, Digest: digest(row, sub.Data, sub.Agent),
		Message: row, Data: sub.Data, Tools: sub.Tools, Agent: name, Policy: sub.Policy,
		Conn: sub.Conn, Headless: sub.Headless,
		MaxDuration: s.opts.MaxDuration, StallAfter: s.opts.StallAfter, Attempts: s.attempts(ag),
	}, nil
}

// refuseAgent tells which agents there are.
func (s *Service) refuseAgent(name string) *Refusal {
	return &Refusal{Code: CodeUnknownAgent, Message: fmt.Sprintf("there is no agent %q here; there is %s", clipName(name), strings.Join(sortedKeys(s.agents), ", "))}
}

// clipName keeps what a client has sent from filling a refusal.
func clipName(name string) string { return name[:min(len(name), 64)] }

func (s *Service) admit(ctx context.Context, sub Submit, submission eventlog.Submission) (eventlog.Admission, error) {
	begin := eventlog.Begin{
		Thread: sub.Thread, Submission: submission, OnBusy: sub.OnBusy, Generation: sub.Generation, Quota: s.opts.Quota,
	}
	if begin.OnBusy == "" {
		begin.OnBusy = s.opts.OnBusy
	}
	if s.opts.Kind != nil {
		begin.Kind, begin.KindPolicy = s.opts.Kind(sub)
	}
	adm, node, err := s.begin(ctx, begin)
	if err != nil {
		return eventlog.Admission{}, refuse(ctx, err)
	}
	if why, refused := verdicts[adm.Verdict]; refused {
		return eventlog.Admission{}, &why
	}
	if adm.Verdict == eventlog.VerdictStarted {
		s.start(sub.Thread, node, adm)
	}
	return adm, nil
}

// begin repeats Begin until there is a verdict; when a turn has to be
// superseded it writes that turn's end first. It returns the node that owns the turn.
func (s *Service) begin(ctx context.Context, b eventlog.Begin) (eventlog.Admission, string, error) {
	var adm eventlog.Admission
	for range maxSupersedes {
		err := retry(ctx, s.opts.AdmitBudget, func(ctx context.Context) (err error) {
			if b.Node, err = s.admitting(); err != nil {
				return err
			}
			if adm, err = s.log.Begin(ctx, b); err == nil && adm.Verdict == eventlog.VerdictNodeDead && b.Node == s.Node() {
				s.rejoin(ctx, b.Node)
			}
			return err
		})
		switch {
		case errors.Is(err, eventlog.ErrMoved):
			b.Closing = nil
			continue
		case err != nil:
			return adm, b.Node, err
		case adm.Verdict == eventlog.VerdictNodeDead:
			continue
		case adm.Verdict != eventlog.VerdictSuperseding:
			return adm, b.Node, nil
		}
		s.nudge(b.Thread) // its owner, if that is us, need not wait to be woken
		if b.Closing, err = s.closingOf(ctx, adm.Busy); err != nil {
			return adm, b.Node, err
		}
	}
	return adm, b.Node, nil
}

// closingOf builds the end of a turn that is fenced and so says nothing more.
func (s *Service) closingOf(ctx context.Context, busy eventlog.RunningTurn) (*eventlog.Closing, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.AdmitBudget)
	defer cancel()
	said, err := closing.Read(ctx, patient{s.log}, busy, s.opts.FrameLimit/2)
	if err != nil {
		return nil, err
	}
	return &eventlog.Closing{
		TurnID: busy.TurnID, Attempt: busy.Attempt, AsOf: busy.LastSeq,
		Frames: said.Close(closing.End{Outcome: eventlog.OutcomeSuperseded}),
	}, nil
}

// admitting returns the node under which a turn may begin now.
func (s *Service) admitting() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return "", refuseDraining
	case s.life == nil:
		return "", refuseStarting
	}
	return s.node, nil
}
