package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/command"
)

const agentsDoc = "../../docs/agents.md"

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// docBlock is a piece of code of a document.
type docBlock struct{ language, text string }

// docBlocks returns the pieces of code of docs/agents.md, and its text.
func docBlocks(t *testing.T) ([]docBlock, string) {
	t.Helper()
	raw, err := os.ReadFile(agentsDoc)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []docBlock
	for _, found := range fence.FindAllStringSubmatch(string(raw), -1) {
		blocks = append(blocks, docBlock{found[1], found[2]})
	}
	return blocks, string(raw)
}

// docCode returns the one block of that language that contains the text.
func docCode(t *testing.T, language, has string) string {
	t.Helper()
	blocks, _ := docBlocks(t)
	var found []string
	for _, b := range blocks {
		if b.language == language && strings.Contains(b.text, has) {
			found = append(found, b.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of %q with %q", agentsDoc, len(found), language, has)
	}
	return found[0]
}

// shellWords are the words of each line of a shell block, without comments; what
// is in double quotes would need more than this.
func shellWords(t *testing.T, block string) [][]string {
	t.Helper()
	var lines [][]string
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "  #")
		if strings.ContainsAny(line, `"'\$|`) {
			t.Fatalf("this line needs a real shell: %s", line)
		}
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// askAndHear sends a message in a thread of its own and returns what was said and the end.
func askAndHear(t *testing.T, n *testNode, thread, content string) (string, map[string]any) {
	t.Helper()
	c := n.dial()
	c.send(`{"command":"chat_message","data":{"thread_id":` + strconv.Quote(thread) + `,"content":` + strconv.Quote(content) + `}}`)
	var said strings.Builder
	messages := c.until("the end of the turn", ofType("turn_finished"))
	for _, m := range messages {
		if content, ok := m["content"].(string); ok && m["type"] == "chunk" && m["thinking"] != true {
			said.WriteString(content)
		}
	}
	return said.String(), messages[len(messages)-1]
}

// TestAgentsDocHasNoCodeWithoutATest: a block that is added must be run here.
func TestAgentsDocHasNoCodeWithoutATest(t *testing.T) {
	tested := []string{
		"go build -o", "bin/turnlog chat", "json.loads(sys.stdin.readline())", // TestAgentsDocFiveMinutes
		"name: assistant", "name: local", "inputs: true", // TestAgentsDocConfigurations
		"examples/command/agent.py",                              // TestAgentsDocCommands
		`{"type":"task_update"`, `"type":"protocol","version":1`, // TestAgentsDocFrames
		`{"type":"start","protocol":1,"thread_id":"t1"`, // TestAgentsDocStartLine
		"#!/bin/bash", "translate.sh", // TestAgentsDocTranslation
		"go work init", "http.server", // TestAgentsDocModule, TestAgentsDocBrowser
		"POST /turn",                                          // TestAgentsDocWebhookExchange
		"def verify(", "function verify(", `"demo":{"frames"`, // TestAgentsDocVerifiers, TestAgentsDocDemo
	}
	blocks, _ := docBlocks(t)
	for _, b := range blocks {
		if !slices.ContainsFunc(tested, func(has string) bool { return strings.Contains(b.text, has) }) {
			t.Errorf("no test runs this block:\n%s", b.text)
		}
	}
	for _, has := range tested {
		if !slices.ContainsFunc(blocks, func(b docBlock) bool { return strings.Contains(b.text, has) }) {
			t.Errorf("no block has %q any more", has)
		}
	}
}

func TestAgentsDocFiveMinutes(t *testing.T) {
	build := shellWords(t, docCode(t, "sh", "go build -o"))
	if len(build) != 1 || strings.Join(build[0][:3], " ") != "go build -o" {
		t.Fatalf("builds with %q", build)
	}
	program := filepath.Join(t.TempDir(), filepath.Base(build[0][3]))
	cmd := exec.Command("go", "build", "-o", program, build[0][4])
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	lines := shellWords(t, docCode(t, "sh", "bin/turnlog chat"))
	mine := docCode(t, "python", "sys.stdin.readline()")
	t.Chdir(t.TempDir())
	writeFile(t, "mine.py", mine)
	serve, chat := lines[0], lines[1]
	if len(lines) != 2 || serve[0] != build[0][3] || serve[1] != "serve" || strings.Join(chat, " ") != build[0][3]+" chat" {
		t.Fatalf("runs %q", lines)
	}
	n := startNode(t, serve[2:]...)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	talk := exec.CommandContext(ctx, program, append(chat[1:], "--url", "ws://"+n.addr+"/ws")...)
	talk.Stdin = strings.NewReader("hello world\n")
	out, err := talk.Output()
	if err != nil || strings.TrimSpace(string(out)) != "olleh dlrow" {
		t.Fatalf("%v, the chat shows %q", err, out)
	}
}

// TestAgentsDocCommands serves with every line that the document shows.
func TestAgentsDocCommands(t *testing.T) {
	lines := shellWords(t, docCode(t, "sh", "examples/command/agent.py"))
	t.Chdir("../..")
	for i, line := range lines {
		t.Run(strings.Join(line, " "), func(t *testing.T) {
			if line[0] != "turnlog" || line[1] != "serve" {
				t.Fatal("not a line that serves")
			}
			said, end := askAndHear(t, startNode(t, line[2:]...), "t"+strconv.Itoa(i), "hello")
			if end["outcome"] != "completed" || said == "" {
				t.Errorf("said %q, ended with %v", said, end)
			}
		})
	}
}

func TestAgentsDocConfigurations(t *testing.T) {
	t.Setenv("TURNLOG_OPENAI_KEY", "k")
	t.Setenv("TURNLOG_HOOK_SECRET", "0123456789abcdef0123")
	blocks, _ := docBlocks(t)
	seen := 0
	for _, b := range blocks {
		if b.language != "yaml" {
			continue
		}
		seen++
		config, err := loadWith(t, []string{"--config", configFile(t, "turnlog.yaml", b.text)}, nil)
		if err != nil {
			t.Errorf("%v in\n%s", err, b.text)
			continue
		}
		agents, err := buildAgents(config.Config, newLogger(&syncBuffer{}, config.Log))
		if err != nil || len(agents) < strings.Count(b.text, "name:") {
			t.Errorf("%d agents, %v in\n%s", len(agents), err, b.text)
		}
	}
	if seen == 0 {
		t.Error("no configuration found")
	}
}

// printing is an agent whose program prints these lines.
func printing(t *testing.T, lines string) *command.Agent {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines")
	writeFile(t, path, lines)
	a, err := command.New(command.Options{Command: []string{"cat", path}, Stdin: command.StdinText})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAgentsDocFrames(t *testing.T) {
	for _, has := range []string{`{"type":"task_update"`, `"type":"protocol","version":1`} {
		lines := docCode(t, "json", has)
		turn := agenttest.New(agent.Info{})
		if err := printing(t, lines).Run(t.Context(), turn); err != nil {
			t.Errorf("%v for\n%s", err, lines)
		}
		for _, f := range turn.Frames() {
			if !strings.Contains(lines, string(f)+"\n") {
				t.Errorf("%s became a frame that the document does not show", f)
			}
		}
	}
}

var codeSpan = regexp.MustCompile("`(\\{\"[^`]*\\})`")

// TestAgentsDocRequests prints the lines of the table of requests: each is one.
func TestAgentsDocRequests(t *testing.T) {
	_, text := docBlocks(t)
	_, text, _ = strings.Cut(text, "\n### Requests\n")
	text, _, _ = strings.Cut(text, "\n### ")
	var lines strings.Builder
	for _, found := range codeSpan.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(found[1], `{"type"`) {
			lines.WriteString(found[1] + "\n")
		} else if value := strings.ReplaceAll(found[1], "...", "0"); !json.Valid([]byte(value)) && !json.Valid([]byte(strings.ReplaceAll(found[1], "...", "x"))) {
			t.Errorf("an answer that is not JSON: %s", found[1])
		}
	}
	turn := agenttest.New(agent.Info{})
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
	if err := printing(t, lines.String()).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, ask := range turn.Asks() {
		kinds = append(kinds, ask.Kind)
	}
	slices.Sort(kinds)
	want := []string{agent.KindToolCall, agent.KindToolApproval, agent.KindPlanApproval, agent.KindSecret}
	slices.Sort(want)
	if !slices.Equal(kinds, want) {
		t.Errorf("requests of kinds %v", kinds)
	}
}
