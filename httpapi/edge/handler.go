package edge

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"turnlog/httpapi/problem"
)

// Codes of what is refused here.
const (
	CodeOrigin = "origin_not_allowed"
	CodeHost   = "host_not_allowed"
)

// Handler is in front of a node's handler.
type Handler struct {
	next  http.Handler
	opts  Options
	lines *rate.Limiter // log lines, so that a hostile client fills no disk
}

var _ http.Handler = (*Handler)(nil)

// New puts the edge in front of next.
func New(next http.Handler, options Options) *Handler {
	return &Handler{next: next, opts: options.withDefaults(), lines: rate.NewLimiter(linesPerSecond, linesBurst)}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known := &request{id: requestID(r.Header.Get(problem.RequestIDHeader)), client: h.opts.Proxies.Client(r)}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, known)) // the routes set their pattern on this one
	seen := &recorder{ResponseWriter: h.limitAnswer(w)}
	began := time.Now()
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // a panic's value, compared as net/http does
			h.opts.Logger.Error("a request panicked", "request_id", known.id, "pattern", r.Pattern, "panic", PanicText(p), "stack", string(debug.Stack()))
			if !seen.begun() {
				h.refuse(seen, r, &problem.Problem{Status: http.StatusInternalServerError, Code: problem.CodeInternal, Detail: "something went wrong on the server", Retryable: true})
				p = nil
			}
		}
		h.log(r, known, seen, time.Since(began))
		if p != nil {
			panic(http.ErrAbortHandler)
		}
	}()
	h.serve(seen, r)
}

// serve lets a request through to the node, or refuses it.
func (h *Handler) serve(w *recorder, r *http.Request) {
	header := w.Header()
	header.Set(problem.RequestIDHeader, RequestID(r.Context()))
	secure(header, h.opts.TLS)
	if h.opts.Local && !h.opts.Origins.local(r.Host) {
		h.refuse(w, r, &problem.Problem{Status: http.StatusMisdirectedRequest, Code: CodeHost,
			Detail: "this node has no authentication and answers to localhost and addresses only; other hosts have to be in http.origins"})
		return
	}
	if r.URL.Path == "/ws" {
		h.next.ServeHTTP(w, r) // asks about its origin itself
		return
	}
	if h.cross(w, r) {
		return
	}
	h.limitBody(w, r)
	compressed := compress(w, r)
	h.next.ServeHTTP(compressed, r)
	compressed.close() // not when it panics: then nobody takes the answer for whole
}

// refuse answers with a problem and counts it.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	SetCode(r.Context(), p.Code)
	h.opts.Refused(p.Code)
	problem.Write(w, r, p)
}

// PanicText is what is logged of a panic: the runtime's own errors hold no
// contents, the rest may and is named by its type.
func PanicText(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", p)
}

// api reports whether a path belongs to the API, which pages of other hosts may use.
func api(path string) bool { return strings.HasPrefix(path, "/v1/") }
