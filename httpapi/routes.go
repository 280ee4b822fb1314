package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"turnlog/httpapi/problem"
)

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
		{"GET", "/v1/threads/{id}/events", a.events.serve},
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
func (a *API) routed() *http.ServeMux {
	mux := http.NewServeMux()
	methods := make(map[string][]string)
	for _, r := range a.routes() {
		mux.Handle(r.method+" "+r.path, a.serve(r.handle))
		methods[r.path] = append(methods[r.path], r.method)
	}
	mux.Handle("GET "+openAPIPath, a.public(openAPI))
	methods[openAPIPath] = []string{"GET"}
	for _, path := range slices.Sorted(maps.Keys(methods)) {
		mux.Handle(path, a.wrongMethod(allow(methods[path])))
	}
	mux.Handle("/", a.notFound)
	return mux
}

// allow lists methods as the header Allow wants them; whoever may GET may HEAD.
func allow(methods []string) string {
	if slices.Contains(methods, "GET") {
		methods = append(methods, "HEAD")
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

func (a *API) wrongMethod(allowed string) http.Handler {
	return a.public(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", allowed)
		return &problem.Problem{
			Status: http.StatusMethodNotAllowed, Code: problem.CodeMethodNotAllowed, Detail: "this path takes " + allowed,
		}
	})
}
