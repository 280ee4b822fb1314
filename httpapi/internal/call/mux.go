package call

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"turnlog/httpapi/problem"
)

// Route is one call, by method and pattern.
type Route struct {
	Method, Path string
	Handler      http.Handler
}

// Mux serves routes, and problems wherever no route is. It has to see paths as they
// were sent: whoever tidies them up first turns one thread's path into another's.
func (a Adapter) Mux(routes []Route) http.Handler {
	mux := http.NewServeMux()
	methods := make(map[string][]string)
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, r.Handler)
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for _, path := range slices.Sorted(maps.Keys(methods)) {
		mux.Handle(path, a.wrongMethod(allow(methods[path])))
	}
	notFound := a.Handle(func(http.ResponseWriter, *http.Request) error { return problem.NotFound() })
	mux.Handle("/", notFound)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !straight(r.URL.EscapedPath()) {
			notFound.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// allow lists methods as the header Allow wants them; whoever may GET may HEAD.
func allow(methods []string) string {
	if slices.Contains(methods, "GET") {
		methods = append(methods, "HEAD")
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

func (a Adapter) wrongMethod(allowed string) http.Handler {
	return a.Handle(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", allowed)
		return &problem.Problem{
			Status: http.StatusMethodNotAllowed, Code: problem.CodeMethodNotAllowed, Detail: "this path takes " + allowed,
		}
	})
}

// straight reports whether a path has no empty and no dot segments. The mux
// would redirect such a path to another one, and so to another thread.
func straight(escaped string) bool {
	for segment := range strings.SplitSeq(strings.TrimPrefix(escaped, "/"), "/") {
		switch segment {
		case "", ".", "..":
			return false
		}
	}
	return true
}
