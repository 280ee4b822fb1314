package openai

import (
	"context"
	"errors"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"turnlog/agent"
	"turnlog/frame"
)

// answer is what came of one request.
type answer struct {
	text   frame.Text
	calls  []call
	finish string // the provider's finish_reason
	usage  usage
}

// request is what one request needs to be sent again.
type request struct {
	agent *Agent
	turn  agent.Turn
	body  []byte
}

// ask sends the request until an answer has begun, and reads that one to its end.
func (r *request) ask(ctx context.Context) (*answer, error) {
	for tried := 0; ; tried++ {
		in := &incoming{turn: r.turn, limit: r.turn.Info().FrameLimit}
		err := in.read(ctx, r)
		if err == nil {
			return in.answer(), nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var f *failure
		if !errors.As(err, &f) {
			return nil, err
		}
		r.note(f, in.begun, tried+1)
		if in.begun || !r.agent.wait(ctx, f, tried) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, f.what
		}
	}
}

// note logs a failure: what the network said of it, but no word of the provider,
// who may repeat what users said.
func (r *request) note(f *failure, begun bool, tried int) {
	info := r.turn.Info()
	attrs := []any{
		"thread_id", info.ThreadID, "turn_id", info.TurnID, "error_type", f.what.Type, "status_code", f.what.StatusCode,
		"answer_begun", begun, "tried", tried,
	}
	if f.what.Err != nil {
		attrs = append(attrs, "error", f.what.Err)
	}
	r.agent.options.Logger.Warn("model provider failed", attrs...)
}

// incoming is an answer while it comes.
type incoming struct {
	turn     agent.Turn
	limit    int
	begun    bool // something of it was shown or must not be asked for twice
	text     joiner
	thought  joiner
	said     frame.Text
	calls    calls
	finish   string
	usage    usage
	received int
}

func (in *incoming) read(ctx context.Context, r *request) error {
	in.said.Limit, in.calls.limit = in.limit/2, in.limit/4
	var params sdk.ChatCompletionNewParams
	param.SetJSON(r.body, &params)
	seen := &sight{}
	stream := r.agent.chat.NewStreaming(ctx, params, option.WithMiddleware(seen.middleware))
	defer stream.Close()
	for stream.Next() {
		in.received++
		if err := in.chunk(ctx, stream.Current()); err != nil {
			return err
		}
	}
	switch err := stream.Err(); {
	case err != nil:
		return failed(err, seen.answered())
	case in.received == 0:
		return seen.nothing()
	case in.finish == "" && !seen.ended():
		return brokeOff(nil)
	}
	if err := in.think(ctx, in.thought.end()); err != nil {
		return err
	}
	return in.say(ctx, in.text.end())
}

func (in *incoming) chunk(ctx context.Context, c sdk.ChatCompletionChunk) error {
	in.usage.take(c)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" {
			in.finish = choice.FinishReason
		}
		d := choice.Delta
		for _, key := range []string{"reasoning_content", "reasoning"} {
			if field, ok := d.JSON.ExtraFields[key]; ok {
				if err := in.think(ctx, in.thought.add(field.Raw())); err != nil {
					return err
				}
				break // some send both, with the same text
			}
		}
		for _, literal := range []string{d.JSON.Content.Raw(), d.JSON.Refusal.Raw()} {
			if err := in.say(ctx, in.text.add(literal)); err != nil {
				return err
			}
		}
		for _, piece := range d.ToolCalls {
			in.begun = true
			if err := in.calls.add(piece); err != nil {
				return err
			}
		}
	}
	return nil
}

func (in *incoming) say(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	in.begun = true
	in.said.Add(text)
	for _, piece := range pieces(text, max(in.limit/8, 16)) {
		if err := in.turn.Emit(ctx, frame.Chunk(piece)); err != nil {
			return err
		}
	}
	return nil
}

func (in *incoming) think(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	in.begun = true
	for _, piece := range pieces(text, max(in.limit/8, 16)) {
		if err := in.turn.Emit(ctx, frame.AppendThinking(nil, piece)); err != nil {
			return err
		}
	}
	return nil
}

func (in *incoming) answer() *answer {
	return &answer{text: in.said, calls: in.calls.done(), finish: in.finish, usage: in.usage}
}
