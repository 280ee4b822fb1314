package edge

import (
	"log/slog"
	"net/http"
	"time"
)

// Log lines of refused requests: at most so many, because clients cause them.
const (
	linesPerSecond = 50
	linesBurst     = 200
)

// log writes the line of a request: refused ones at info, failed ones at warn,
// the rest at debug. A path or query is never in it: they may hold tokens and ids.
func (h *Handler) log(r *http.Request, known *request, seen *recorder, took time.Duration) {
	level, what := slog.LevelDebug, "request"
	switch {
	case seen.status >= 500 && seen.status != http.StatusServiceUnavailable:
		level, what = slog.LevelWarn, "request failed"
	case seen.status >= 400:
		level, what = slog.LevelInfo, "request refused"
	}
	if !h.opts.Logger.Enabled(r.Context(), level) || level != slog.LevelDebug && !h.lines.Allow() {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", known.id), slog.String("method", method(r.Method)), slog.String("pattern", r.Pattern),
		slog.Int("status", seen.status), slog.Duration("duration", took),
	}
	if known.client.IsValid() {
		attrs = append(attrs, slog.String("client", known.client.String()))
	}
	if known.user != "" {
		attrs = append(attrs, slog.String("user", known.user))
	}
	if known.code != "" {
		attrs = append(attrs, slog.String("code", known.code))
	}
	h.opts.Logger.LogAttrs(r.Context(), level, what, attrs...)
}

// method names a request's method; one that clients made up is not repeated.
func method(m string) string {
	switch m {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE":
		return m
	}
	return "other"
}
