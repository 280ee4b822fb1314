package client_test

import (
	"os"
	"strings"
	"testing"
)

// The Go of docs/clients.md is what example_test.go compiles.
func TestTheQuickStartOfTheDocsCompiles(t *testing.T) {
	docs, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(docs), "```go\n")
	block, _, ok := strings.Cut(rest, "```")
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !ok || !strings.Contains(words(string(example)), words(block)) {
		t.Errorf("this is in no example:\n%s", block)
	}
}
