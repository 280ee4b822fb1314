package httpapi

import (
	"net/http"

	"turnlog/httpapi/internal/call"
)

// eventsPath is where event streams are.
const eventsPath = "/v1/threads/{id}/events"

// route is one call of the API.
type route struct {
	method, path string
	handle       handler
}

// routes are all authenticated calls. The OpenAPI document describes the same ones.
func (a *API) routes() []route {
	return []route{
		{"GET", "/v1/turns", a.listTurns},
		{"GET", "/v1/threads", a.listThreads},
		{"GET", "/v1/threads/{id}", a.getThread},
		{"PUT", "/v1/threads/{id}", a.putThread},
		{"PATCH", "/v1/threads/{id}", a.patchThread},
		{"DELETE", "/v1/threads/{id}", a.deleteThread},
		{"POST", "/v1/threads/{id}/turns", a.submit},
		{"GET", eventsPath, a.events.serve},
		{"GET", "/v1/threads/{id}/frames", a.frames},
		{"GET", "/v1/threads/{id}/messages", a.messages},
		{"POST", "/v1/threads/{id}/stop", a.stop},
		{"POST", "/v1/threads/{id}/steer", a.steer},
		{"GET", "/v1/threads/{id}/requests", a.listRequests},
		{"POST", "/v1/threads/{id}/answers", a.answer},
		{"GET", "/v1/threads/{id}/queue", a.listQueue},
		{"GET", "/v1/threads/{id}/queue/{turn_id}", a.getQueued},
		{"DELETE", "/v1/threads/{id}/queue/{turn_id}", a.dropQueued},
	}
}

// routed puts the routes on a mux, and problems wherever no route is.
func (a *API) routed() http.Handler {
	routes := []call.Route{{Method: "GET", Path: openAPIPath, Handler: a.calls.Handle(openAPI)}}
	for _, r := range a.routes() {
		if r.path != eventsPath {
			r.handle = a.counted(r.handle)
		}
		routes = append(routes, call.Route{Method: r.method, Path: r.path, Handler: a.serve(r.handle)})
	}
	return a.calls.Mux(routes)
}
