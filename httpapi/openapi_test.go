package httpapi_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"turnlog/httpapi"
	"turnlog/internal/openapitest"
)

// theDocument is the OpenAPI document as it is served.
func theDocument(t testing.TB) *openapitest.Document {
	t.Helper()
	recorder := httptest.NewRecorder()
	bareAPI(t, nil, nil).ServeHTTP(recorder, httptest.NewRequest("GET", "/v1/openapi.json", nil))
	return openapitest.Parse(t, recorder.Body.Bytes(), "/v1/")
}

func TestOpenAPI_EveryRouteIsDescribedAndNothingElse(t *testing.T) {
	described, routes := theDocument(t).Operations(), httpapi.Routes(bareAPI(t, nil, nil))
	slices.Sort(routes)
	if !slices.Equal(described, routes) {
		t.Fatalf("described %s\nroutes %s", strings.Join(described, "\n  "), strings.Join(routes, "\n  "))
	}
}

func TestOpenAPI_ItsSchemasAndExamplesAreInOrder(t *testing.T) {
	theDocument(t).CheckItself(t, 15)
}
