package client_test

import (
	"os"
	"strings"
	"testing"
)

// The Go of docs/clients.md is what example_test.go compiles.
func TestTheGoOfTheDocsCompiles(t *testing.T) {
	docs, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	blocks := strings.Split(string(docs), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("there is no Go")
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(words(string(example)), words(block)) {
			t.Errorf("this is in no example:\n%s", block)
		}
	}
}
