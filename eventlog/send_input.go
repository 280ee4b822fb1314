package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

var sendInputScript = loadScript("send_input")

// SendInput stores an input for the running turn turnID ("" = whatever runs)
// and wakes its owner. The same id again is a duplicate. A stop without a
// turnID also drops the queue; a stop with the id of a queued submission drops
// only that one. A steer that finds nothing running is not stored.
func (l *Log) SendInput(ctx context.Context, t Thread, turnID string, in Input) (InputResult, error) {
	k, err := l.keys(t)
	if err != nil {
		return InputResult{}, err
	}
	id, err := EncodeID(in.ID)
	if err != nil {
		return InputResult{}, fmt.Errorf("input id: %w", err)
	}
	payload := string(in.Payload)
	if in.Kind == InputSteer {
		if payload, err = steerBlob(in); err != nil {
			return InputResult{}, err
		}
	}
	r, err := l.run(ctx, sendInputScript, k.state(), l.cfg, turnID, id, string(in.Kind), in.RequestID, payload, in.Answers)
	if err != nil {
		return InputResult{}, fmt.Errorf("send %s: %w", in.Kind, err)
	}
	return InputResult{Verdict: InputVerdict(r.str(0)), TurnID: r.str(1), Owner: r.str(2), Dropped: r.list(3).strings()}, nil
}

// steerBlob stores a steer as the submission that it becomes if the turn ends first.
func steerBlob(in Input) (string, error) {
	var s Submission
	if err := json.Unmarshal(in.Payload, &s); err != nil {
		return "", fmt.Errorf("steer: payload is no submission: %w", err)
	}
	s.ID = in.ID
	return encodeSubmission(s)
}

// Inputs returns the inputs of a running turn after number after, oldest first.
// It fails with a FencedError when that turn does not run any more.
func (l *Log) Inputs(ctx context.Context, t Thread, turnID string, after int64) ([]Input, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.TxPipeline()
	state := pipe.HMGet(ctx, k.state(), "turn_id", "status", "outcome", "closing")
	entries := pipe.XRange(ctx, k.inputs(), strconv.FormatInt(after+1, 10), "+")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "read inputs", err)
	}
	st := reply(state.Val())
	if st.str(0) != turnID || st.str(1) != string(StatusRunning) {
		fenced := &FencedError{}
		if st.str(0) == turnID {
			fenced.Outcome = Outcome(st.str(2))
		}
		return nil, fmt.Errorf("read inputs: %w", fenced)
	}
	if closing := st.str(3); closing != "" {
		return nil, fmt.Errorf("read inputs: %w", &FencedError{Outcome: closingOutcome(closing)})
	}
	out := make([]Input, 0, len(entries.Val()))
	var errs []error
	for _, e := range entries.Val() {
		in, err := input(e.ID, e.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, in)
	}
	return out, errors.Join(errs...)
}

// closingOutcome: a fence is "!<outcome>", or the id of the superseding turn.
func closingOutcome(closing string) Outcome {
	if closing[0] == '!' {
		return Outcome(closing[1:])
	}
	return OutcomeSuperseded
}

func input(entryID string, values map[string]any) (Input, error) {
	text := func(name string) string { s, _ := values[name].(string); return s }
	in := Input{Seq: seqOf(entryID), Kind: InputKind(text("kind")), RequestID: text("request")}
	in.ID, _ = DecodeID(text("id"))
	payload := text("payload")
	if in.Kind == InputSteer {
		s, err := decodeSubmission(payload)
		if err != nil {
			return in, err
		}
		if in.Payload, err = json.Marshal(s); err != nil {
			return in, err
		}
		return in, nil
	}
	if payload != "" {
		in.Payload = json.RawMessage(payload)
	}
	return in, nil
}

// seqOf reads the number of a stream id.
func seqOf(id string) int64 {
	for i := range len(id) {
		if id[i] == '-' {
			id = id[:i]
			break
		}
	}
	n, _ := strconv.ParseInt(id, 10, 64)
	return n
}
