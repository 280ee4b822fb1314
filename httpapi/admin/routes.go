package admin

import (
	_ "embed"
	"net/http"

	"turnlog/httpapi/internal/call"
)

//go:embed openapi.json
var openAPIDocument []byte

// routes are all calls. The OpenAPI document describes the same ones.
func (a *API) routes() []call.Route {
	var routes []call.Route
	for _, r := range []struct {
		method, path string
		handle       call.Handler
	}{
		{"GET", "/admin/v1/nodes", a.listNodes},
		{"GET", "/admin/v1/reaper", a.getReaper},
		{"GET", "/admin/v1/turns", a.listTurns},
		{"GET", "/admin/v1/turns/summary", a.countTurns},
		{"DELETE", "/admin/v1/users/{user}", a.deleteUser},
		{"GET", "/admin/v1/users/{user}/threads", a.listThreads},
		{"GET", "/admin/v1/users/{user}/threads/{thread}", a.getThread},
		{"DELETE", "/admin/v1/users/{user}/threads/{thread}", a.deleteThread},
		{"GET", "/admin/v1/users/{user}/threads/{thread}/frames", a.readFrames},
		{"POST", "/admin/v1/users/{user}/threads/{thread}/stop", a.stopTurn},
		{"GET", "/admin/v1/openapi.json", openAPI},
	} {
		routes = append(routes, call.Route{Method: r.method, Path: r.path, Handler: a.calls.Handle(r.handle)})
	}
	return routes
}

func openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPIDocument) // the client went away; nobody is left to tell
	return nil
}
