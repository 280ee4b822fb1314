package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

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
		r.agent.options.Logger.Warn("model provider failed", "thread_id", r.turn.Info().ThreadID, "turn_id", r.turn.Info().TurnID,
			"error_type", f.what.Type, "status_code", f.what.StatusCode, "answer_begun", in.begun, "tried", tried+1)
		if in.begun || !r.agent.wait(ctx, f, tried) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, f.what
		}
	}
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
	end := &endWatch{}
	stream := r.agent.chat.NewStreaming(ctx, params, option.WithMiddleware(end.middleware))
	defer stream.Close()
	for stream.Next() {
		in.received++
		if err := in.chunk(ctx, stream.Current()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return failed(err)
	}
	if in.received == 0 {
		return &failure{what: &agent.Error{Message: "The model provider's answer was not a stream.", Type: "invalid_answer"}, retry: true}
	}
	if in.finish == "" && !end.seen.Load() {
		return &failure{what: &agent.Error{Message: "The model's answer broke off.", Type: "stream_ended"}, retry: true}
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

// endWatch looks at what the client library keeps to itself: the bodies of refusals,
// whatever their shape, and the stream's end mark, without which a stream that was
// cut looks like one that is complete.
type endWatch struct{ seen atomic.Bool }

func (w *endWatch) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res == nil || res.Body == nil {
		return res, err
	}
	if res.StatusCode >= 400 {
		defer res.Body.Close()
		return nil, refused(res)
	}
	res.Body = &watchedBody{ReadCloser: res.Body, watch: w}
	return res, nil
}

type watchedBody struct {
	io.ReadCloser
	watch *endWatch
	tail  []byte
}

var endMark = []byte("[DONE]")

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tail = append(b.tail, p[:n]...)
	if bytes.Contains(b.tail, endMark) {
		b.watch.seen.Store(true)
	}
	b.tail = append(b.tail[:0], b.tail[max(0, len(b.tail)-len(endMark)+1):]...)
	return n, err
}

// usage counts tokens over the rounds of a turn.
type usage struct {
	Prompt     int64  `json:"prompt_tokens"`
	Completion int64  `json:"completion_tokens"`
	Total      int64  `json:"total_tokens"`
	Rounds     int    `json:"rounds"`
	Model      string `json:"model,omitempty"`
}

// take takes a chunk's usage; only the last one of a stream counts.
func (u *usage) take(c sdk.ChatCompletionChunk) {
	if c.Model != "" {
		u.Model = c.Model
	}
	if c.JSON.Usage.Valid() {
		u.Prompt, u.Completion, u.Total = c.Usage.PromptTokens, c.Usage.CompletionTokens, c.Usage.TotalTokens
	}
}

// add adds a round.
func (u *usage) add(v usage) {
	u.Prompt += v.Prompt
	u.Completion += v.Completion
	u.Total += v.Total
	u.Rounds++
	if v.Model != "" {
		u.Model = clip(v.Model)
	}
}

func (u *usage) json() json.RawMessage {
	b, _ := json.Marshal(u)
	return b
}
