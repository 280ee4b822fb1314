package admin

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"turnlog/httpapi/problem"
)

// Bounds of lists.
const (
	someRows = 100
	mostRows = 500
)

// cursor makes an opaque text of a place in a list; nil: there is none.
func cursor(at int64, name string) *string {
	if name == "" {
		return nil
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at, 10) + " " + name))
	return &text
}

var errCursor = problem.Invalid("cursor", "must be the next of an earlier page")

// readCursor reads where a page begins; an empty name: at the beginning.
func readCursor(r *http.Request) (at int64, name string, err error) {
	text := r.URL.Query().Get("cursor")
	if text == "" {
		return 0, "", nil
	}
	b, bad := base64.RawURLEncoding.DecodeString(text)
	number, name, found := strings.Cut(string(b), " ")
	at, wrong := strconv.ParseInt(number, 10, 64)
	if bad != nil || wrong != nil || !found || name == "" || at < 0 {
		return 0, "", errCursor
	}
	return at, name, nil
}

// left is how long until a moment, in ms; nil without one, 0 when it is past.
func left(until, now time.Time) *int64 {
	if until.IsZero() {
		return nil
	}
	ms := max(until.Sub(now).Milliseconds(), 0)
	return &ms
}
