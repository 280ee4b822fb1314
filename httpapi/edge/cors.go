package edge

import (
	"net/http"
	"strings"

	"turnlog/httpapi/problem"
)

// What pages of other hosts may send and read. Nothing here allows credentials.
const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id"
	corsExposed = "Location, X-Request-Id, Retry-After"
	corsMaxAge  = "600" // seconds that a browser keeps the answer
)

// cross checks the origin of a request, and answers a browser's question
// whether it may send one; true when the request is answered.
func (h *Handler) cross(w *recorder, r *http.Request) bool {
	header := w.Header()
	if api(r.URL.Path) {
		header.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if origin == "" && !(h.opts.Local && fromElsewhere(r)) {
		return false
	}
	if len(r.Header.Values("Origin")) > 1 || !h.opts.Origins.Allow(origin, r.Host) {
		h.refuse(w, r, &problem.Problem{Status: http.StatusForbidden, Code: CodeOrigin, Detail: "this origin is not allowed"})
		return true
	}
	if !api(r.URL.Path) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		header.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	header.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// fromElsewhere reports whether another site's page, or one of another port, sends a
// request of an API as a picture, a script or a link. Browsers send no Origin with it, and
// its page cannot read the answer, but an event stream changes things by being opened: it is
// a viewer. With tokens such a request is nobody's.
func fromElsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return api(r.URL.Path) || strings.HasPrefix(r.URL.Path, "/admin/")
	}
	return false
}
