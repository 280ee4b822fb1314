// Package edge is what every HTTP request passes first, whatever it asks for:
// request ids, client addresses behind trusted proxies, one log line per refused
// or failed request, security headers, origins and CORS, the host names a node
// without authentication answers to, time limits of bodies and answers, and compression.
//
// Origins. One matcher decides for WebSockets (wsapi.Options.Origin) and for HTTP.
// Pages of the host they talk to are always allowed, others by the list, and
// requests without an Origin header do not come from another site's page, apart from
// pictures, scripts and links, which a node without authentication on loopback
// refuses (Sec-Fetch-Site). A request of an origin that is not allowed is refused with
// 403 before anything is done.
// CORS answers never allow credentials: tokens travel in headers, which pages set
// themselves, and no cookie means anything here.
//
// Proxies. X-Forwarded-For and Forwarded count only when the peer is a trusted
// proxy; the client is then the rightmost address that is not one. When both are
// there and disagree one of them was made up by the client, and neither counts.
//
// Logs never hold paths, queries, headers or bodies: a request is named by its
// route's pattern and its id.
//
// Everything here is safe for concurrent use and holds no state besides its
// configuration. WebSocket upgrades and event streams pass through unbuffered.
package edge
