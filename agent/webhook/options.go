package webhook

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"turnlog/agent"
)

// Options configure the agent.
type Options struct {
	// URL gets the POSTs. Required.
	URL string
	// Secret signs them; empty = not signed. One that begins with whsec_ is base64
	// behind that, any other is taken as it is; at least 16 bytes.
	Secret string
	// Bearer is sent as bearer token; empty = none.
	Bearer string
	// HistoryLimit is how many messages of the thread the first POST carries at
	// most (and at most 1 MiB of them); default 100, negative for none.
	HistoryLimit int
	// Inputs has steering messages and permission modes POSTed too. Without it a
	// steering message becomes the next turn.
	Inputs bool
	// Restartable says that a lost turn may be run again.
	Restartable bool

	// ResponseTimeout bounds the wait for the head of a response. Default 30 s.
	ResponseTimeout time.Duration
	// IdleTimeout ends a response that sends nothing for so long, not even a
	// comment or an empty line. Default 2 minutes, negative = never.
	IdleTimeout time.Duration
	// Retries is how often a POST is repeated that could not be delivered or was
	// answered with 429, 502, 503 or 504; default 2, negative = never.
	Retries int
	// RetryDelay is the wait before the first repetition, doubled for the next
	// ones. Default 500 ms.
	RetryDelay time.Duration

	// Transport sends the requests; default one of the agent's own.
	Transport http.RoundTripper
	// Logger gets what went wrong with deliveries; default none.
	Logger *slog.Logger
}

// maxHead bounds the head of a response, in bytes.
const maxHead = 64 << 10

func (o Options) withDefaults() Options {
	for _, n := range []struct {
		field *int
		value int
	}{{&o.HistoryLimit, 100}, {&o.Retries, 2}} {
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.ResponseTimeout, 30 * time.Second}, {&o.IdleTimeout, 2 * time.Minute}, {&o.RetryDelay, 500 * time.Millisecond}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		transport.MaxResponseHeaderBytes = maxHead
		o.Transport = transport
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	to, err := url.Parse(o.URL)
	switch {
	case o.URL == "":
		return errors.New("the webhook agent needs a URL to POST turns to")
	case err != nil || to.Host == "" || (to.Scheme != "http" && to.Scheme != "https"):
		return errors.New("the webhook agent's URL must begin with http:// or https:// and name a host")
	case o.ResponseTimeout < 0 || o.RetryDelay < 0:
		return errors.New("the webhook agent's response timeout and retry delay must not be negative")
	}
	if o.Secret != "" {
		if _, err := newKey(o.Secret); err != nil {
			return fmt.Errorf("the webhook agent's secret: %w", err)
		}
	}
	return nil
}

// Agent runs turns on one server.
type Agent struct {
	options Options
	key     key
	client  *http.Client
}

var (
	_ agent.Agent       = (*Agent)(nil)
	_ agent.Restartable = (*Agent)(nil)
)

// New returns the agent, or an error that names the impossible option. It
// connects to nothing.
func New(options Options) (*Agent, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	a := &Agent{options: options, client: &http.Client{
		Transport:     options.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if options.Secret != "" {
		a.key, _ = newKey(options.Secret) // validated
	}
	return a, nil
}

// Restartable implements agent.Restartable.
func (a *Agent) Restartable() bool { return a.options.Restartable }
