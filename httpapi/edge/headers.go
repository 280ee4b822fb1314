package edge

import "net/http"

// contentPolicy lets a page load from the node alone and be framed by nobody.
const contentPolicy = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// aYear is how long browsers remember that a host is reached by https.
const aYear = "max-age=31536000"

// secure sets the headers that every answer has.
func secure(h http.Header, tls bool) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin") // what is fetched by CORS is not concerned
	h.Set("Content-Security-Policy", contentPolicy)
	if tls {
		h.Set("Strict-Transport-Security", aYear)
	}
}
