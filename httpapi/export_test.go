package httpapi

// Routes lists what the API's mux was given, as "METHOD path".
func Routes(a *API) []string {
	routes := []string{"GET " + openAPIPath}
	for _, r := range a.routes() {
		routes = append(routes, r.method+" "+r.path)
	}
	return routes
}
