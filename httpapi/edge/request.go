package edge

import (
	"context"
	"crypto/rand"
	"net/netip"
	"strings"
)

// request is what is known of one request. It belongs to the goroutine that serves it.
type request struct {
	id     string
	client netip.Addr
	user   string
	code   string
}

type requestKey struct{}

// of returns the request that a context belongs to; one that nobody sees outside of Handler.
func of(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return new(request)
}

// RequestID returns the id of the request that ctx belongs to, "" outside of Handler.
func RequestID(ctx context.Context) string { return of(ctx).id }

// Client returns the address of the request's client, the zero value when it is not known.
func Client(ctx context.Context) netip.Addr { return of(ctx).client }

// SetUser tells the log line of a request who it came from. Only the goroutine
// that serves the request may call it.
func SetUser(ctx context.Context, user string) { of(ctx).user = user }

// SetCode tells the log line of a request why it was refused. Only the goroutine
// that serves the request may call it.
func SetCode(ctx context.Context, code string) { of(ctx).code = code }

// longestID bounds request ids that others made.
const longestID = 128

// requestID takes the id that a client or proxy gave when it is harmless in logs
// and headers, and makes one otherwise.
func requestID(given string) string {
	if given == "" || len(given) > longestID {
		return rand.Text()
	}
	for i := range len(given) {
		c := given[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
			return rand.Text()
		}
	}
	return strings.Clone(given)
}
