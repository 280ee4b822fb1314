package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"turnlog/agent"
	"turnlog/agent/coalesce"
	"turnlog/agent/command"
	"turnlog/agent/demo"
	"turnlog/agent/openai"
	"turnlog/agent/webhook"
	"turnlog/eventlog"
	"turnlog/session"
)

// buildAgents makes the agents of the file and, when none of them has its name,
// the one that the setting agent asks for.
func buildAgents(config Config, logger *slog.Logger) (map[string]agent.Agent, error) {
	agents := make(map[string]agent.Agent)
	specs := config.Agents
	if names := config.agentNames(); len(names) > len(specs) {
		specs = append(specs[:len(specs):len(specs)], AgentSpec{
			Name: config.Agent.Name, Type: config.Agent.Name, Command: config.Agent.Command, Stdin: config.Agent.Stdin,
			Restartable: config.Turn.OnOwnerLost == ownerLostRestart,
		})
	}
	for _, spec := range specs {
		made, err := buildAgent(spec, config, logger)
		if err == nil && (spec.CoalesceFor > 0 || spec.CoalesceBytes > 0) {
			made, err = coalesce.New(made, coalesce.Options{For: time.Duration(spec.CoalesceFor), Bytes: spec.CoalesceBytes})
		}
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", spec.Name, err)
		}
		agents[spec.Name] = made
	}
	return agents, nil
}

func buildAgent(spec AgentSpec, config Config, logger *slog.Logger) (agent.Agent, error) {
	logger = logger.With("agent", spec.Name)
	switch spec.Type {
	case agentCommand:
		return command.New(command.Options{
			Command: spec.Command, Stdin: command.Stdin(spec.Stdin), Dir: spec.Dir, StopTimeout: config.Turn.StopTimeout,
			HistoryLimit: spec.HistoryMessages, Restartable: spec.Restartable, Logger: logger,
		})
	case agentOpenAI:
		key, err := secretOf("api_key_env", spec.APIKeyEnv)
		if err != nil {
			return nil, err
		}
		return openai.New(openai.Options{
			BaseURL: spec.BaseURL, APIKey: key, Model: spec.Model, Models: spec.Models, System: spec.System, Params: spec.Params,
			Approve: spec.Approve, MaxRounds: spec.MaxRounds, HistoryMessages: spec.HistoryMessages, HistoryTokens: spec.HistoryTokens,
			Retries: spec.Retries, Logger: logger,
		})
	case agentWebhook:
		secret, err := secretOf("secret_env", spec.SecretEnv)
		if err != nil {
			return nil, err
		}
		bearer, err := secretOf("bearer_env", spec.BearerEnv)
		if err != nil {
			return nil, err
		}
		return webhook.New(webhook.Options{
			URL: spec.URL, Secret: secret, Bearer: bearer, HistoryLimit: spec.HistoryMessages, Inputs: spec.Inputs, Restartable: spec.Restartable,
			ResponseTimeout: time.Duration(spec.ResponseTimeout), IdleTimeout: time.Duration(spec.IdleTimeout), Retries: spec.Retries, Logger: logger,
		})
	}
	return demo.Agent{}, nil
}

// secretOf reads the environment variable that a field names.
func secretOf(field, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	value := os.Getenv(name)
	if value == "" {
		return "", fmt.Errorf("%s: the environment variable %s is not set", field, name)
	}
	return value, nil
}

// agentOf makes session.Options.AgentOf: agents by the kind of the thread, nil
// when no agent has kinds. log is asked for when a turn begins.
func agentOf(log func() *eventlog.Log, config Config) func(context.Context, session.Submit) (string, error) {
	byKind := make(map[string]string)
	for _, spec := range config.Agents {
		for _, kind := range spec.Kinds {
			byKind[kind] = spec.Name
		}
	}
	if len(byKind) == 0 {
		return nil
	}
	ruleKind := kindOf(config.Kinds)
	return func(ctx context.Context, s session.Submit) (string, error) {
		meta, found, err := log().Thread(ctx, s.Thread)
		if err != nil {
			return "", err
		}
		kind := meta.Kind
		if !found && ruleKind != nil {
			kind, _ = ruleKind(s)
		}
		return byKind[kind], nil
	}
}
