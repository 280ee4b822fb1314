package openai

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"turnlog/agent"
)

// Options configure the agent.
type Options struct {
	// BaseURL is the endpoint up to and without /chat/completions, for example
	// https://api.openai.com/v1 or http://127.0.0.1:11434/v1. Required.
	BaseURL string
	// APIKey is sent as bearer token; empty = none.
	APIKey string
	// Model answers when the message names none (data.model). One of the two is needed.
	Model string
	// Models are the models that a message may name, besides Model; empty = any,
	// which lets clients choose what you pay for.
	Models []string
	// System is the system prompt; empty = none.
	System string
	// Params are further keys of each request, for example temperature.
	Params map[string]any

	// HistoryMessages and HistoryTokens bound the history in a request; a token
	// counts as four bytes. Defaults 100 and 32000; negative = no history, no bound.
	HistoryMessages int
	HistoryTokens   int
	// MaxRounds bounds the requests that follow each other without a new word
	// of the user. Default 16.
	MaxRounds int
	// Approve names the tools that the user is asked about before each call; "*" = all.
	Approve []string

	// Retries is how often a request is repeated while nothing of its answer has
	// come; default 2, negative = never.
	Retries int
	// RetryDelay is the wait before the first repetition, doubled for each further
	// one; what the provider asks for (Retry-After) goes first. Default 500 ms.
	RetryDelay time.Duration
	// MaxRetryWait is the longest wait; a provider that asks for more is not asked
	// again. Default 60 s.
	MaxRetryWait time.Duration

	// HTTPClient sends the requests; default one of the agent's own without timeout.
	HTTPClient *http.Client
	// Logger gets what went wrong with providers; default none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	for _, n := range []struct {
		field *int
		value int
	}{{&o.HistoryMessages, 100}, {&o.HistoryTokens, 32000}, {&o.MaxRounds, 16}, {&o.Retries, 2}} {
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = 500 * time.Millisecond
	}
	if o.MaxRetryWait == 0 {
		o.MaxRetryWait = time.Minute
	}
	if o.HTTPClient == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		o.HTTPClient = &http.Client{Transport: transport}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Params = maps.Clone(o.Params)
	return o
}

// fixed are the request's keys that the agent fills itself.
var fixed = []string{"messages", "model", "stream", "stream_options", "tools", "n"}

func (o Options) validate() error {
	base, err := url.Parse(o.BaseURL)
	switch {
	case o.BaseURL == "":
		return errors.New("the openai agent needs a base URL, for example https://api.openai.com/v1")
	case err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https"):
		return errors.New("the openai agent's base URL must begin with http:// or https:// and name a host")
	case strings.HasSuffix(strings.TrimSuffix(base.Path, "/"), "/chat/completions"):
		return errors.New("the openai agent's base URL must end before /chat/completions")
	case o.MaxRounds < 1:
		return fmt.Errorf("the openai agent's rounds must be at least 1, not %d", o.MaxRounds)
	case o.RetryDelay < 0 || o.MaxRetryWait < 0:
		return errors.New("the openai agent's retry delays must not be negative")
	}
	for _, key := range fixed {
		if _, set := o.Params[key]; set {
			return fmt.Errorf("the openai agent's params must not set %q: the agent does", key)
		}
	}
	return nil
}

// Agent runs turns on one endpoint.
type Agent struct {
	options Options
	chat    sdk.ChatCompletionService
}

var _ agent.Agent = (*Agent)(nil)

// New returns the agent, or an error that names the impossible option. It
// connects to nothing.
func New(options Options) (*Agent, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	plain := *options.HTTPClient
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := []option.RequestOption{
		option.WithBaseURL(options.BaseURL), option.WithHTTPClient(&plain), option.WithMaxRetries(0),
	}
	if options.APIKey != "" {
		client = append(client, option.WithAPIKey(options.APIKey))
	}
	return &Agent{options: options, chat: sdk.NewChatCompletionService(client...)}, nil
}

// model is the model for a message, by what its data asks for.
func (o Options) model(asked string) (string, error) {
	switch {
	case asked == "" || asked == o.Model:
		if o.Model == "" {
			return "", &agent.Error{Message: "The message names no model and the agent has none.", Type: "invalid_request"}
		}
		return o.Model, nil
	case len(o.Models) > 0 && !slices.Contains(o.Models, asked):
		return "", &agent.Error{Message: fmt.Sprintf("The model %q is not offered here.", asked), Type: "invalid_request"}
	}
	return asked, nil
}
