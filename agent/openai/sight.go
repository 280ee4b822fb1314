package openai

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/openai/openai-go/v3/option"

	"turnlog/agent"
)

// sight is what one saw of a response that the client library keeps to itself: the
// bodies of refusals, whatever their shape; what came instead of a stream; and the
// stream's end mark, without which one that was cut looks like one that is complete.
type sight struct {
	mu      sync.Mutex
	kind    string // media type; "" = none
	success bool   // the head of a good response came
	end     bool   // and the end mark
	head    []byte // beginning of its body, at most maxErrorBody
	tail    []byte
}

func (s *sight) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res == nil || res.Body == nil {
		return res, err
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		return nil, refused(res)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.success = true
	s.kind, _, _ = mime.ParseMediaType(res.Header.Get("Content-Type"))
	res.Body = &seenBody{ReadCloser: res.Body, sight: s}
	return res, nil
}

// answered says whether a good response began.
func (s *sight) answered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.success
}

// ended says whether the end mark came.
func (s *sight) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// nothing says what is wrong with a response that had no event.
func (s *sight) nothing() *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if said := reason(s.head); said.Message != "" {
		return reported(said)
	}
	if s.kind != "" && s.kind != eventStream {
		return &failure{what: &agent.Error{Message: "The model provider's answer was not a stream, but " + clip(s.kind) + ".", Type: "invalid_answer"}, retry: true}
	}
	return &failure{what: &agent.Error{Message: "The model provider's answer was empty.", Type: "stream_ended"}, retry: true}
}

const eventStream = "text/event-stream"

type seenBody struct {
	io.ReadCloser
	sight *sight
}

var endMark = []byte("[DONE]")

// Read implements io.Reader.
func (b *seenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	s := b.sight
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := maxErrorBody - len(s.head); s.kind != eventStream && room > 0 {
		s.head = append(s.head, p[:min(n, room)]...)
	}
	s.tail = append(s.tail, p[:n]...)
	s.end = s.end || bytes.Contains(s.tail, endMark)
	s.tail = append(s.tail[:0], s.tail[max(0, len(s.tail)-len(endMark)+1):]...)
	return n, err
}
