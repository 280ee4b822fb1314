package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"turnlog/embedded"
	"turnlog/identity"
	"turnlog/internal/redistest"
)

// example is one command of docs/http.md and the answer that it shows.
type example struct{ command, answer string }

func examples(t testing.TB) (list []example) {
	t.Helper()
	page, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(page), "\n```") {
		switch lang, text, _ := strings.Cut(part, "\n"); {
		case i%2 == 0: // prose
		case lang == "sh":
			list = append(list, example{command: text})
		case lang == "json":
			list[len(list)-1].answer = text
		default:
			t.Fatalf("a block of %q", lang)
		}
	}
	return list
}

// The commands run in order, in one shell each, against a node that is new.
func TestDocs_ExamplesOfTheHTTPPageAnswerAsShown(t *testing.T) {
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed (make deps): %v", program, err)
		}
	}
	addr, _ := redistest.Mini(t)
	n := startRest(t, addr, embedded.Options{Auth: identity.NoAuth{Admin: true}}) // as turnlog serve on loopback
	list := examples(t)
	if len(list) < 10 {
		t.Fatalf("only %d examples", len(list))
	}
	for _, e := range list {
		ctx, cancel := context.WithTimeout(t.Context(), restPatience)
		out, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(e.command, "http://127.0.0.1:8080", n.url)).CombinedOutput()
		cancel()
		if err != nil {
			t.Fatalf("%s\n%v: %s", e.command, err, out)
		}
		if strings.Contains(string(out), `"type":"about:blank"`) {
			t.Fatalf("%s\n%s", e.command, out)
		}
		if e.answer == "" {
			continue
		}
		var got, want any
		if err := json.Unmarshal([]byte(e.answer), &want); err != nil {
			t.Fatalf("%s: %v", e.answer, err)
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s\n%v: %s", e.command, err, out)
		}
		if why := shaped(got, want); why != "" {
			t.Errorf("%s\nanswers %sshown as %s: %s", e.command, out, e.answer, why)
		}
	}
}

// shaped tells how an answer differs from the one that is shown: other keys, other
// types, other texts that are not ids. "" = not at all.
func shaped(got, want any) string {
	switch want := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		if a, b := slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
			return fmt.Sprintf("keys %v instead of %v", a, b)
		}
		for k, v := range want {
			switch k {
			case "turn_id", "epoch", "request_id", "last_activity", "last_seq", "chat_seq", "next":
				if fmt.Sprintf("%T", g[k]) != fmt.Sprintf("%T", v) {
					return fmt.Sprintf("%s is a %T", k, g[k])
				}
			default:
				if why := shaped(g[k], v); why != "" {
					return k + ": " + why
				}
			}
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(want) {
			return fmt.Sprintf("%d elements instead of %d", len(g), len(want))
		}
		for i := range want {
			if why := shaped(g[i], want[i]); why != "" {
				return why
			}
		}
	default:
		if got != want {
			return fmt.Sprintf("%v instead of %v", got, want)
		}
	}
	return ""
}
