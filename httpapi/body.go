package httpapi

import (
	"net/http"

	"turnlog/httpapi/internal/call"
)

// Media types of bodies.
const (
	typeJSON       = "application/json"
	typeMergePatch = "application/merge-patch+json"
)

// body reads a request's JSON object, which may be left out when it is optional.
func (a *API) body(w http.ResponseWriter, r *http.Request, optional bool, types ...string) (form, error) {
	text, fields, err := call.Object(w, r, a.opts.InboundBytes, optional, types...)
	return form{text: text, fields: fields}, err
}
