package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const someAgents = `
agents:
  - {name: fast, type: openai, base_url: "http://u:pw@127.0.0.1:1/v1", model: small, api_key_env: TURNLOG_TEST_KEY, approve: [rm], params: {temperature: 0.5}, coalesce_for: 50ms}
  - {name: mine, type: command, command: [cat, -], stdin: text, kinds: [research, nightly]}
  - {name: hook, type: webhook, url: "http://127.0.0.1:1/", secret_env: HOOK_SECRET, response_timeout: 3s, inputs: true}
  - {name: play, type: demo}
`

func TestNamedAgentsOfTheFile(t *testing.T) {
	t.Setenv("TURNLOG_TEST_KEY", "sk-1")
	t.Setenv("HOOK_SECRET", "0123456789abcdef")
	path := configFile(t, "turnlog.yaml", someAgents)
	config, err := loadWith(t, []string{"--config", path}, []string{"TURNLOG_TEST_KEY=sk-1"})
	if err != nil {
		t.Fatal(err)
	}
	if config.Agent.Name != "fast" || config.source["agent"] != "first of agents" || len(config.warnings) > 0 {
		t.Errorf("default %q from %q, warnings %v", config.Agent.Name, config.source["agent"], config.warnings)
	}
	fast, hook := config.Agents[0], config.Agents[2]
	if fast.Model != "small" || fast.Params["temperature"] != 0.5 || time.Duration(fast.CoalesceFor) != 50*time.Millisecond ||
		time.Duration(hook.ResponseTimeout) != 3*time.Second || !hook.Inputs {
		t.Errorf("%+v", config.Agents)
	}
	agents, err := buildAgents(config.Config, slog.New(slog.DiscardHandler))
	if err != nil || len(agents) != 4 || agents["demo"] != nil {
		t.Fatalf("%v, %v", agents, err)
	}
	var out bytes.Buffer
	if err := writeConfig(&out, config, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fast openai", "api_key_env=TURNLOG_TEST_KEY", "mine command kinds=research,nightly command=cat -", "secret_env=HOOK_SECRET"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	for _, secret := range []string{"sk-1", "pw@", "0123456789abcdef"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is shown in\n%s", secret, out.String())
		}
	}
	t.Setenv("HOOK_SECRET", "")
	if _, err := buildAgents(config.Config, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "agent hook: secret_env: the environment variable HOOK_SECRET is not set") {
		t.Error(err)
	}
}

func TestTheDefaultAgentMayBeChosen(t *testing.T) {
	path := configFile(t, "turnlog.yaml", someAgents)
	for name, want := range map[string]string{"hook": "fast mine hook play", "demo": "fast mine hook play demo"} {
		config, err := loadWith(t, []string{"--config", path, "--agent", name}, nil)
		if err != nil || config.Agent.Name != name || strings.Join(config.agentNames(), " ") != want {
			t.Errorf("%s: %v, %v", name, config, err)
		}
	}
}

func TestAgentErrorsNameTheAgentAndItsField(t *testing.T) {
	rows := []struct {
		name, file string
		args       []string
		want       []string
	}{
		{"no list", "agents: demo", nil, []string{"agents:", "list"}},
		{"no table", "agents: [demo]", nil, []string{"agents[0]:", "name"}},
		{"no type", "agents: [{name: a}]", nil, []string{"agents[0].type", "openai"}},
		{"no name", "agents: [{type: demo}]", nil, []string{"agents[0].name"}},
		{"odd name", "agents: [{name: 'a b', type: demo}]", nil, []string{"agents[0].name", `"a b"`}},
		{"two of a name", "agents: [{name: a, type: demo}, {name: a, type: demo}]", nil, []string{"agents[1].name", `"a"`}},
		{"kind twice", "agents: [{name: a, type: demo, kinds: [x]}, {name: b, type: demo, kinds: [x]}]", nil, []string{"agents[1].kinds", `"x"`, "a already"}},
		{"misspelt field", "agents: [{name: a, type: openai, base_ulr: x}]", nil, []string{"agents[0]:", "base_ulr", "did you mean base_url?"}},
		{"field of another type", "agents: [{name: a, type: demo, url: x}]", nil, []string{"agents[0]:", "type demo", `"url"`}},
		{"a key in the file", "agents: [{name: a, type: openai, api_key: sk-secret}]", nil, []string{"agents[0].api_key:", "environment variable", "api_key_env"}},
		{"empty field", "agents: [{name: a, type: openai, model: }]", nil, []string{"agents[0].model", "no value"}},
		{"shape", "agents: [{name: a, type: command, command: cat}]", nil, []string{"agents[0].command", "list"}},
		{"duration", "agents: [{name: a, type: demo, coalesce_for: 5}]", nil, []string{"agents[0].coalesce_for"}},
		{"duration without unit", "agents: [{name: a, type: demo, coalesce_for: '5'}]", nil, []string{"agents[0]", "duration", "50ms"}},
		{"default that is not there", "agents: [{name: fast, type: demo}]", []string{"--agent", "fats"}, []string{"agent:", `"fats"`, "did you mean fast?"}},
		{"a type that needs the list", "agents: [{name: a, type: demo}]", []string{"--agent", "openai"}, []string{"agent: openai", "list agents", "--config"}},
	}
	for _, row := range rows {
		_, err := loadWith(t, append([]string{"--config", configFile(t, "turnlog.yaml", row.file)}, row.args...), nil)
		if err == nil {
			t.Errorf("%s: was accepted", row.name)
			continue
		}
		for _, want := range row.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not mention %q", row.name, err, want)
			}
		}
		if strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: shows a secret", row.name)
		}
	}
}
