package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// threadPath is the address of a thread.
func threadPath(id string) string {
	switch id {
	case ".", "..": // as they are they would lead elsewhere
		return "/v1/threads/" + strings.ReplaceAll(id, ".", "%2E")
	}
	return "/v1/threads/" + url.PathEscape(id)
}

// longestClient bounds what a client may call itself, in bytes.
const longestClient = 64

// clientName is what kind of client it is, as it says itself (?client=), for the
// admission rules; a name that no rule could hold counts as none.
func clientName(r *http.Request) string {
	name := r.URL.Query().Get("client")
	if len(name) > longestClient || !utf8.ValidString(name) {
		return ""
	}
	return name
}
