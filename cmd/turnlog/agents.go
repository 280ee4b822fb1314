package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// agentsKey is the list of named agents; it can only stand in the file.
const agentsKey = "agents"

// AgentSpec is one named agent of the file. Which fields it may have depends on
// its type, see agentFields.
type AgentSpec struct {
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	Kinds         []string `json:"kinds"` // threads of these kinds get it when a message names no agent
	CoalesceFor   wait     `json:"coalesce_for"`
	CoalesceBytes int      `json:"coalesce_bytes"`

	HistoryMessages int  `json:"history_messages"`
	HistoryTokens   int  `json:"history_tokens"`
	Restartable     bool `json:"restartable"`
	Retries         int  `json:"retries"`

	Command []string `json:"command"`
	Stdin   string   `json:"stdin"`
	Dir     string   `json:"dir"`

	BaseURL   string         `json:"base_url"`
	APIKeyEnv string         `json:"api_key_env"`
	Model     string         `json:"model"`
	Models    []string       `json:"models"`
	System    string         `json:"system"`
	Params    map[string]any `json:"params"`
	Approve   []string       `json:"approve"`
	MaxRounds int            `json:"max_rounds"`

	URL             string `json:"url"`
	SecretEnv       string `json:"secret_env"`
	BearerEnv       string `json:"bearer_env"`
	Inputs          bool   `json:"inputs"`
	ResponseTimeout wait   `json:"response_timeout"`
	IdleTimeout     wait   `json:"idle_timeout"`
}

// wait is a duration as people write it.
type wait time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *wait) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration; write a number with a unit, like 50ms or 30s", text)
	}
	*w = wait(d)
	return nil
}

// agentFields are the fields of each type of agent, besides those of all.
var agentFields = map[string][]string{
	agentDemo:    {},
	agentCommand: {"command", "stdin", "dir", "history_messages", "restartable"},
	agentOpenAI: {"base_url", "api_key_env", "model", "models", "system", "params", "approve", "max_rounds",
		"history_messages", "history_tokens", "retries"},
	agentWebhook: {"url", "secret_env", "bearer_env", "inputs", "response_timeout", "idle_timeout", "history_messages", "restartable", "retries"},
}

var commonFields = []string{"name", "type", "kinds", "coalesce_for", "coalesce_bytes"}

// parseAgents reads the list as the file's parser left it. Errors name the agent
// and the field.
func parseAgents(value any) ([]AgentSpec, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: wants a list of agents, each with name and type", agentsKey)
	}
	var specs []AgentSpec
	kinds := make(map[string]string)
	for i, item := range list {
		spec, err := parseAgent(item)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]%w", agentsKey, i, err)
		}
		if slices.ContainsFunc(specs, func(other AgentSpec) bool { return other.Name == spec.Name }) {
			return nil, fmt.Errorf("%s[%d].name: there are two agents named %q", agentsKey, i, spec.Name)
		}
		for _, kind := range spec.Kinds {
			if other := kinds[kind]; other != "" {
				return nil, fmt.Errorf("%s[%d].kinds: %q is a kind of the agent %s already", agentsKey, i, kind, other)
			}
			kinds[kind] = spec.Name
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parseAgent reads one agent; its errors begin where the agent's name ends.
func parseAgent(item any) (AgentSpec, error) {
	var spec AgentSpec
	fields, ok := item.(map[string]any)
	if !ok {
		return spec, errors.New(": wants name, type and the settings of its type")
	}
	typ, _ := fields["type"].(string)
	own, known := agentFields[typ]
	if !known {
		return spec, fmt.Errorf(".type: %q is not possible; use %s", typ, strings.Join(slices.Sorted(maps.Keys(agentFields)), ", "))
	}
	allowed := append(slices.Clone(commonFields), own...)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(allowed, name) && slices.Contains(allowed, name+"_env") {
			return spec, fmt.Errorf(".%s: secrets do not belong into the file; name an environment variable with %s_env", name, name)
		}
		if !slices.Contains(allowed, name) {
			return spec, fmt.Errorf(": an agent of type %s has no field %q%s", typ, name, suggestion(name, allowed))
		}
		if fields[name] == nil {
			return spec, fmt.Errorf(".%s: has no value; write one or remove the line", name)
		}
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return spec, fmt.Errorf(": %w", err)
	}
	if err := json.Unmarshal(encoded, &spec); err != nil {
		var shape *json.UnmarshalTypeError
		if errors.As(err, &shape) {
			return spec, fmt.Errorf(".%s: wants a %s, not a %s", shape.Field, plainKind(shape.Type.String()), shape.Value)
		}
		return spec, fmt.Errorf(": %w", err)
	}
	if !agentName.MatchString(spec.Name) {
		return spec, fmt.Errorf(".name: %q is not possible; use letters, digits, dots, dashes and underscores, at most 64", spec.Name)
	}
	if spec.CoalesceBytes < 0 {
		return spec, fmt.Errorf(".coalesce_bytes: %d is negative", spec.CoalesceBytes)
	}
	return spec, nil
}

// plainKind says a Go type in words.
func plainKind(typ string) string {
	switch {
	case strings.HasPrefix(typ, "[]"):
		return "list"
	case strings.HasPrefix(typ, "map"):
		return "table"
	case typ == "main.wait":
		return "duration"
	case typ == "int":
		return "whole number"
	}
	return typ
}

// agentsText prints the agents on one line, as turnlog config shows them. Secrets
// are not part of the file: it names the variables that hold them.
func agentsText(specs []AgentSpec) string {
	var lines []string
	for _, s := range specs {
		line := s.Name + " " + s.Type
		for _, part := range []struct{ name, text string }{
			{"kinds", strings.Join(s.Kinds, ",")}, {"command", strings.Join(s.Command, " ")}, {"base_url", maskURL(s.BaseURL)},
			{"model", s.Model}, {"api_key_env", s.APIKeyEnv}, {"url", maskURL(s.URL)}, {"secret_env", s.SecretEnv}, {"bearer_env", s.BearerEnv},
		} {
			if part.text != "" {
				line += " " + part.name + "=" + part.text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// agentNames lists the agents that a message may name.
func (c *Config) agentNames() []string {
	names := make([]string, 0, len(c.Agents)+1)
	for _, s := range c.Agents {
		names = append(names, s.Name)
	}
	if !slices.Contains(names, c.Agent.Name) && (c.Agent.Name == agentDemo || c.Agent.Name == agentCommand) {
		names = append(names, c.Agent.Name)
	}
	return names
}
