package admin

// Routes lists what the API's mux was given, as "METHOD path".
func Routes(a *API) []string {
	var routes []string
	for _, r := range a.routes() {
		routes = append(routes, r.Method+" "+r.Path)
	}
	return routes
}
