package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAgentsDocBrowser serves as the document says and runs the page's script.
func TestAgentsDocBrowser(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	block := docCode(t, "sh", "http.server")
	lines := shellWords(t, block)
	serve, files := lines[0], lines[1]
	host, port := files[len(files)-2], files[len(files)-1]
	origin := "http://" + host + ":" + port
	if len(lines) != 2 || serve[1] != "serve" || !slices.Contains(serve, origin) || strings.Join(files[:3], " ") != "python3 -m http.server" ||
		!strings.Contains(block, origin+"/examples/browser/") {
		t.Fatalf("runs %q", lines)
	}
	page := filepath.Join(root, "examples/browser/index.html")
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if _, doc := docBlocks(t); !strings.Contains(doc, "a page of "+strconv.Itoa(strings.Count(string(html), "\n"))+" lines") {
		t.Errorf("the page has %d lines", strings.Count(string(html), "\n"))
	}
	mine := docCode(t, "python", "sys.stdin.readline()")
	browser, err := filepath.Abs("testdata/browser.mjs")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	writeFile(t, "mine.py", mine)
	n := startNode(t, serve[2:]...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := filepath.Join(root, "client/js")
	cmd := exec.CommandContext(ctx, "node", browser, page, client, filepath.Join(client, "node_modules/ws/wrapper.mjs"), "ws://"+n.addr+"/ws", origin, "hello world")
	out, err := cmd.CombinedOutput()
	if want := "user: hello world\nassistant: olleh dlrow \nTurnlog: online\n"; err != nil || string(out) != want {
		t.Fatalf("%v, the page shows\n%s", err, out)
	}
}
