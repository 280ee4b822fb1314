package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"turnlog/agent"
)

// failure is what a provider did wrong, and whether asking again may help.
type failure struct {
	what  *agent.Error
	retry bool
	after time.Duration // the provider asks to wait so long; 0 = it does not say
}

// Error implements error.
func (f *failure) Error() string { return f.what.Message }

const (
	maxReason    = 1000     // bytes of a provider's words that are passed on
	maxErrorBody = 64 << 10 // bytes of an error's body that are read
)

// failed says what an error of the client library means; answered says whether a
// good response had begun.
func failed(err error, answered bool) *failure {
	var known *failure
	var stream *ssestream.StreamError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &stream):
		return reported(reason(stream.Event.Data))
	case errors.As(err, &syntax):
		return &failure{what: &agent.Error{Message: "The model provider sent something that cannot be read.", Type: "invalid_answer", Err: err}, retry: true}
	case errors.Is(err, bufio.ErrTooLong):
		return &failure{what: &agent.Error{Message: "The model provider sent a line that is too long.", Type: "invalid_answer", Err: err}}
	case answered:
		return brokeOff(err)
	}
	return &failure{what: &agent.Error{Message: "The model provider could not be reached.", Type: "provider_unreachable", Err: withoutURL(err)}, retry: true}
}

// brokeOff is an answer that began and did not end.
func brokeOff(err error) *failure {
	return &failure{what: &agent.Error{Message: "The model's answer broke off.", Type: "stream_ended", Err: err}, retry: true}
}

// withoutURL drops the URL that errors of requests repeat: its query may hold a
// key, and errors are logged.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// refused reads an answer with an HTTP status other than success.
func refused(res *http.Response) *failure {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	said := reason(body)
	f := said.failure(res.StatusCode)
	if f.what.Message == "" {
		f.what.Message = "The model provider answered with status " + strconv.Itoa(res.StatusCode) + "."
	}
	if res.StatusCode < 400 {
		f.what.Message, f.what.Type = "The model provider answered with status "+strconv.Itoa(res.StatusCode)+": redirects are not followed.", "invalid_answer"
	}
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		f.what.Message = "The model provider refused the credentials." // what it says may repeat them
	}
	f.after = retryAfter(res.Header, time.Now())
	switch res.Header.Get("X-Should-Retry") {
	case "true":
		f.retry = true
	case "false":
		f.retry = false
	}
	return f
}

// reported is an error that came where an answer was due: in the stream, or
// instead of it.
func reported(said providerError) *failure {
	status, _ := strconv.Atoi(said.Code)
	if status < 400 || status > 599 {
		status = 0
	}
	f := said.failure(status)
	f.retry = f.retry || status == 0
	if f.what.Message == "" {
		f.what.Message = "The model provider reported an error."
	}
	return f
}

// reason reads what providers say of errors: {"error":{"message","type","code"}},
// {"error":"..."}, {"message":"..."} or {"detail":"..."}.
func reason(body []byte) providerError {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	_ = json.Unmarshal(body, &outer)
	var inner struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(outer.Error, &inner.Message) != nil {
		_ = json.Unmarshal(outer.Error, &inner)
	}
	said := providerError{Message: inner.Message, Type: inner.Type, Code: strings.Trim(string(inner.Code), `"`)}
	if said.Code == "null" {
		said.Code = ""
	}
	for _, text := range []string{outer.Message, outer.Detail} {
		if said.Message == "" {
			said.Message = text
		}
	}
	return said
}

type providerError struct{ Message, Type, Code string }

func (p *providerError) failure(status int) *failure {
	kind := p.Type
	if _, err := strconv.Atoi(p.Code); kind == "" && err != nil {
		kind = p.Code
	}
	if kind == "" {
		switch {
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			kind = "authentication_error"
		case status == http.StatusTooManyRequests:
			kind = "rate_limit_error"
		case status >= 500:
			kind = "server_error"
		case status >= 400:
			kind = "invalid_request_error"
		default:
			kind = "provider_error"
		}
	}
	retry := status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
	return &failure{what: &agent.Error{Message: clip(p.Message), Type: clip(kind), StatusCode: status}, retry: retry}
}

func clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "\ufffd")
}

// retryAfter reads how long a provider asks to be left alone.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// wait waits before the next try; false when there must not be one.
func (a *Agent) wait(ctx context.Context, f *failure, tried int) bool {
	if !f.retry || tried >= a.options.Retries || f.after > a.options.MaxRetryWait {
		return false
	}
	delay := min(a.options.RetryDelay<<min(tried, 16), a.options.MaxRetryWait)
	timer := time.NewTimer(max(f.after, delay))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
