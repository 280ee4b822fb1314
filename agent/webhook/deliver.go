package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"turnlog/agent"
	"turnlog/agent/relay"
)

// maxErrorBody bounds what is read of a refusal, in bytes.
const maxErrorBody = 4 << 10

// deliver POSTs a body until a response begins, and returns that one. The
// response ends with ctx.
func (a *Agent) deliver(ctx context.Context, id string, body []byte) (*http.Response, error) {
	for tried := 0; ; tried++ {
		res, retry, err := a.post(ctx, id, body)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		a.note(id, err, tried+1)
		if retry < 0 || tried >= a.options.Retries {
			return nil, err
		}
		if !pause(ctx, max(retry, a.options.RetryDelay<<min(tried, 16))) {
			return nil, context.Cause(ctx)
		}
	}
}

func (a *Agent) note(id string, fault *agent.Error, tried int) {
	attrs := []any{"webhook_id", id, "error_type", fault.Type, "status_code", fault.StatusCode, "tried", tried}
	if fault.Err != nil {
		attrs = append(attrs, "error", fault.Err)
	}
	a.options.Logger.Warn("webhook failed", attrs...)
}

// withoutURL drops the URL that errors of requests repeat: its query may hold a token,
// and errors are logged.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// maxRetryAfter is the longest wait that a server may ask for.
const maxRetryAfter = time.Minute

// post tries once; retry < 0 means that another try is of no use.
func (a *Agent) post(ctx context.Context, id string, body []byte) (res *http.Response, retry time.Duration, fault *agent.Error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() {
		if res == nil {
			cancel(nil)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.options.URL, bytes.NewReader(body))
	if err != nil {
		return nil, -1, &agent.Error{Message: "The agent's server could not be asked.", Type: "webhook_unreachable", Err: withoutURL(err)}
	}
	a.dress(req, id, body)
	head := time.AfterFunc(a.options.ResponseTimeout, func() { cancel(errSlow) })
	defer head.Stop() // also bounds the reading of a refusal
	res, err = a.client.Do(req)
	if err == nil && res.StatusCode < 300 && !head.Stop() { // the head came just too late
		res.Body.Close()
		err = errSlow
	}
	if err != nil {
		res = nil
		if errors.Is(context.Cause(ctx), errSlow) {
			return nil, -1, &agent.Error{Message: "The agent's server did not answer in time.", Type: "webhook_timeout", Err: errSlow}
		}
		if strings.Contains(err.Error(), "response headers exceeded") { // net/http has no error of its own for it
			return nil, -1, &agent.Error{Message: fmt.Sprintf("The agent's server answered with a head of more than %d bytes.", maxHead), Type: "webhook_invalid", Err: withoutURL(err)}
		}
		return nil, 0, &agent.Error{Message: "The agent's server could not be reached.", Type: "webhook_unreachable", Err: withoutURL(err)}
	}
	if spoken, ok := relay.Versions(res.Header.Get(HeaderProtocol)); ok {
		if err := relay.CheckVersions(spoken); errors.As(err, &fault) {
			res.Body.Close()
			return nil, -1, fault
		}
	}
	if res.StatusCode < 300 {
		res.Body = &cancelBody{res.Body, cancel}
		return res, 0, nil
	}
	fault, retry = refused(res)
	res.Body.Close()
	if errors.Is(context.Cause(ctx), errSlow) {
		fault.Err = errSlow
	}
	return nil, retry, fault
}

var errSlow = errors.New("no response in time")

// dress sets the headers.
func (a *Agent) dress(req *http.Request, id string, body []byte) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/x-ndjson")
	req.Header.Set("User-Agent", "turnlog")
	req.Header.Set(HeaderProtocol, strconv.Itoa(relay.Protocol))
	req.Header.Set("Accept-Encoding", "identity") // packing only delays a stream; what comes packed is refused
	req.Header.Set(HeaderID, id)
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set(HeaderTimestamp, timestamp)
	if a.key != nil {
		req.Header.Set(HeaderSignature, a.key.sign(id, timestamp, body))
	}
	if a.options.Bearer != "" {
		req.Header.Set("Authorization", "Bearer "+a.options.Bearer)
	}
}

func refused(res *http.Response) (*agent.Error, time.Duration) {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	var said struct {
		Message string `json:"message"`
		Error   string `json:"error"`
		Title   string `json:"title"`
	}
	_ = json.Unmarshal(body, &said)
	fault := &agent.Error{
		Message: fmt.Sprintf("The agent's server answered with status %d.", res.StatusCode), Type: "webhook_refused", StatusCode: res.StatusCode,
	}
	for _, text := range []string{said.Message, said.Error, said.Title} {
		if text != "" {
			fault.Message = fmt.Sprintf("The agent's server answered with status %d: %s", res.StatusCode, text)
			break
		}
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after, _ := strconv.ParseFloat(res.Header.Get("Retry-After"), 64)
		if wait := time.Duration(after * float64(time.Second)); wait >= 0 && wait <= maxRetryAfter {
			return fault, wait
		}
	}
	return fault, -1
}

// cancelBody ends the request's context with its body.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close implements io.Closer.
func (b *cancelBody) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
