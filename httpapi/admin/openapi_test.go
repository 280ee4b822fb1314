package admin_test

import (
	"slices"
	"strings"
	"testing"

	"turnlog/httpapi/admin"
)

func TestOpenAPI_EveryRouteIsDescribedAndNothingElse(t *testing.T) {
	described, routes := theDocument(t).Operations(), admin.Routes(bare(t, struct{ admin.Log }{}))
	slices.Sort(routes)
	if !slices.Equal(described, routes) {
		t.Fatalf("described %s\nroutes %s", strings.Join(described, "\n  "), strings.Join(routes, "\n  "))
	}
}

func TestOpenAPI_ItsSchemasAndExamplesAreInOrder(t *testing.T) {
	theDocument(t).CheckItself(t, 10)
}
