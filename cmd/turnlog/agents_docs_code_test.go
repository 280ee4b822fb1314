package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
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
	"turnlog/agent/webhook"
)

// TestAgentsDocStartLine compares the document's start line with a real one.
func TestAgentsDocStartLine(t *testing.T) {
	var shown map[string]json.RawMessage
	if err := json.Unmarshal([]byte(docCode(t, "json", `{"type":"start"`)), &shown); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "start")
	a, err := command.New(command.Options{Command: []string{"sh", "-c", "head -n 1 >" + path}})
	if err != nil {
		t.Fatal(err)
	}
	turn := agenttest.New(agent.Info{
		Message: shown["message"], Tools: shown["tools"], Data: shown["data"], Checkpoint: shown["checkpoint"], Emitted: []json.RawMessage{[]byte(`{"type":"x"}`)},
	})
	if err := a.Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var real map[string]json.RawMessage
	if err := json.Unmarshal(raw, &real); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(real)); !slices.Equal(got, want) {
		t.Errorf("the document shows %v, a program reads %v", got, want)
	}
	if !bytes.Equal(shown["protocol"], real["protocol"]) {
		t.Errorf("the document shows protocol %s, a program reads %s", shown["protocol"], real["protocol"])
	}
}

func TestAgentsDocTranslation(t *testing.T) {
	line := shellWords(t, docCode(t, "sh", "bash translate.sh"))[0]
	script := docCode(t, "bash", "#!/bin/bash")
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	writeFile(t, "translate.sh", script)
	// The events of a program, among them what it should not print.
	writeFile(t, "my-agent", `#!/bin/sh
read -r message
[ "$1" = --json ] && [ "$message" != fail ] || { echo "no more credit" >&2; exit 3; }
echo '{"kind":"thinking","text":"hm"}'
echo '{"kind":"text","text":"You said '"$message"'. "}'
echo 'warning: "not" JSON'
echo '[1]'
printf '{"kind":"cost","usd":0.1}'
`)
	n := startNode(t, line[2:]...)
	said, end := askAndHear(t, n, "good", "hello")
	if said != "You said hello. warning: \"not\" JSON\n[1]\n" || end["outcome"] != "completed" {
		t.Errorf("said %q, ended with %v", said, end)
	}
	if _, end := askAndHear(t, n, "bad", "fail"); end["outcome"] != "failed" || !strings.Contains(end["error"].(string), "no more credit") {
		t.Errorf("a program that fails ended with %v", end)
	}
}

// TestAgentsDocWebhookExchange: what the picture shows as sent by the server is accepted.
func TestAgentsDocWebhookExchange(t *testing.T) {
	var lines strings.Builder
	for _, found := range regexp.MustCompile(`  (\{"type".*\})\n`).FindAllStringSubmatch(docCode(t, "", "POST /turn"), -1) {
		lines.WriteString(found[1] + "\n")
	}
	turn := agenttest.New(agent.Info{})
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
	if err := printing(t, lines.String()).Run(t.Context(), turn); err != nil || turn.Text() != "Hello " || string(turn.State()) != `{"step":1}` || len(turn.Asks()) != 1 {
		t.Errorf("%v, %s", err, turn.Frames())
	}
}

func TestAgentsDocVerifiers(t *testing.T) {
	const secret, body = "0123456789abcdef0123", `{"type":"start"}`
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "check.py"), docCode(t, "python", "def verify(")+`
import json, sys
headers, body = json.load(sys.stdin)
print(verify(b"`+secret+`", headers, body.encode()))
`)
	writeFile(t, filepath.Join(dir, "verify.mjs"), docCode(t, "js", "function verify("))
	writeFile(t, filepath.Join(dir, "check.mjs"), `import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";
const [headers, body] = JSON.parse(readFileSync(0));
const lower = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]));
console.log(verify("`+secret+`", lower, body) ? "True" : "False");
`)
	stamp := func(age time.Duration) string { return strconv.FormatInt(time.Now().Add(-age).Unix(), 10) }
	signed := func(secret, stamp, body string) map[string]string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("t.1.1." + stamp + "." + body))
		return map[string]string{
			webhook.HeaderID: "t.1.1", webhook.HeaderTimestamp: stamp,
			webhook.HeaderSignature: "v1,other v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		}
	}
	for name, row := range map[string]struct {
		headers map[string]string
		want    string
	}{
		"good":           {signed(secret, stamp(0), body), "True"},
		"old":            {signed(secret, stamp(10*time.Minute), body), "False"},
		"another body":   {signed(secret, stamp(0), "{}"), "False"},
		"another secret": {signed("another secret of 20", stamp(0), body), "False"},
		"no time":        {signed(secret, "soon", body), "False"},
		"unsigned":       {map[string]string{}, "False"},
	} {
		input, err := json.Marshal([]any{row.headers, body})
		if err != nil {
			t.Fatal(err)
		}
		for _, program := range [][]string{{"python3", "check.py"}, {"node", "check.mjs"}} {
			cmd := exec.Command(program[0], program[1:]...)
			cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != row.want {
				t.Errorf("%s, %s: %v, %s", program[0], name, err, out)
			}
		}
	}
}

func TestAgentsDocDemo(t *testing.T) {
	message := docCode(t, "json", `"demo":{"frames"`)
	quick := strings.NewReplacer(`"frames":1000`, `"frames":3`, `"interval_ms":20`, `"interval_ms":0`).Replace(message)
	if quick == message {
		t.Fatal("the example has changed; shorten it here")
	}
	c := startNode(t).dial()
	c.send(quick)
	said, _ := text(t, c.until("the end", ofType("turn_finished")), 0)
	if said != "1: 2: 3: " {
		t.Errorf("said %q", said)
	}
}

// TestAgentsDocModule builds the example as a module of its own, next to a checkout.
func TestAgentsDocModule(t *testing.T) {
	lines := shellWords(t, docCode(t, "sh", "go work init"))
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join(root, "examples/embedded/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	mine := filepath.Join(parent, "mine")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, filepath.Join(parent, "turnlog")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(mine)
	writeFile(t, "main.go", string(example))
	for _, line := range lines {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=") // what builds the tests is enough
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(line, " "), err, out)
		}
	}
	if _, err := os.Stat("mine"); err != nil {
		t.Error(err)
	}
}
