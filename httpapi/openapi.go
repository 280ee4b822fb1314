package httpapi

import (
	_ "embed"
	"net/http"
)

// openAPIPath serves the document that describes the API. It needs no token: it
// says nothing about anybody.
const openAPIPath = "/v1/openapi.json"

//go:embed openapi.json
var openAPIDocument []byte

func openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(openAPIDocument) // the client went away; nobody is left to tell
	return nil
}
