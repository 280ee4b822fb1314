package session

import (
	"context"
	"encoding/json"
	"slices"

	"turnlog/eventlog"
)

// Stop stops the thread's running turn and drops its queue. With a turnID it
// touches only that running or queued turn. A turn that is not there: nothing
// happens. It returns once the stop is stored; from then on the turn ends
// within the stop timeout whatever its owner does.
func (s *Service) Stop(ctx context.Context, user, threadID, turnID string) (StopResult, error) {
	return s.StopSaying(ctx, eventlog.Thread{User: user, ID: threadID}, turnID, "")
}

// StopSaying is Stop with a message of its own for generation_stopped; "" = the
// usual one. When the turn's owner is lost, or does not act in time, the reaper ends it with the usual one.
func (s *Service) StopSaying(ctx context.Context, thread eventlog.Thread, turnID, message string) (StopResult, error) {
	in := eventlog.Input{Kind: eventlog.InputStop}
	if message != "" {
		payload, err := json.Marshal(stopping{message})
		if err != nil {
			return StopResult{}, refuse(ctx, err)
		}
		in.Payload = payload
	}
	res, err := s.send(ctx, thread, turnID, in)
	if err != nil {
		return StopResult{}, err
	}
	out := StopResult{Dropped: res.Dropped}
	if res.Verdict == eventlog.InputAccepted || res.Verdict == eventlog.InputDuplicate {
		queued := slices.Contains(res.Dropped, res.TurnID)
		out.Stopped, out.TurnID = res.TurnID != "" && !queued, res.TurnID
	}
	return out, nil
}

// stopping is the payload of a stop.
type stopping struct {
	Message string `json:"message"`
}

// stopMessage is what a stop wants viewers to be told, "" = the usual.
func stopMessage(payload json.RawMessage) string {
	var p stopping
	_ = json.Unmarshal(payload, &p) // a stop that says nothing has no payload
	return p.Message
}
