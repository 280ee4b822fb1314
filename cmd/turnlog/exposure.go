package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"turnlog/embedded"
	"turnlog/httpapi/edge"
	"turnlog/limit"
)

// edgeOptions says what the node lets through. The lists were validated.
func edgeOptions(config Config, measured *metrics, logger *slog.Logger) (edge.Options, error) {
	origins, err := edge.ParseOrigins(config.HTTP.Origins)
	if err != nil {
		return edge.Options{}, fmt.Errorf("http.origins: %w", err)
	}
	proxies, err := edge.ParseProxies(config.HTTP.TrustedProxies)
	if err != nil {
		return edge.Options{}, fmt.Errorf("http.trusted_proxies: %w", err)
	}
	host, _, err := net.SplitHostPort(config.Listen)
	return edge.Options{
		Origins: origins, Proxies: proxies, TLS: config.TLS.Cert != "",
		Local:   err == nil && loopback(host) && !config.authenticates() && !config.Insecure,
		Refused: measured.sockets.Refused, Logger: logger,
	}, nil
}

// expose puts the edge and the limits of users into a node's options.
func expose(options *embedded.Options, config Config, measured *metrics, logger *slog.Logger) error {
	exposed, err := edgeOptions(config, measured, logger)
	if err != nil {
		return err
	}
	users, err := limit.New(limit.Options{
		Connections: config.Limits.Connections, ConnectionsPerUser: config.Limits.ConnectionsPerUser,
		CommandsPerSecond: float64(config.Limits.CommandsPerSecond),
	})
	if err != nil {
		return err
	}
	options.Sockets.Limits, options.Sockets.Origin = users, exposed.Origins.Allow
	options.Sockets.Room = limit.NewRoom(int64(config.Limits.ArrivingBytes))
	options.HTTP.Around = append(options.HTTP.Around, func(next http.Handler) http.Handler { return edge.New(next, exposed) })
	return nil
}

// authenticates reports whether the node asks for tokens.
func (c *Config) authenticates() bool { return c.Auth.Mode == authJWT }

// edgeRules are about what the node lets through.
func (c *Config) edgeRules() []rule {
	origins, originsErr := edge.ParseOrigins(c.HTTP.Origins)
	_, proxiesErr := edge.ParseProxies(c.HTTP.TrustedProxies)
	return []rule{
		{c.Limits.ArrivingBytes < 4*c.Limits.InboundBytes, fmt.Sprintf("limits.arriving_bytes: %s is less than four times limits.inbound_bytes %s, so that one user's share would not hold one message; raise it to %s",
			c.Limits.ArrivingBytes, c.Limits.InboundBytes, 4*c.Limits.InboundBytes)},
		{originsErr != nil, fmt.Sprintf("http.origins: %v", originsErr)},
		{proxiesErr != nil, fmt.Sprintf("http.trusted_proxies: %v", proxiesErr)},
		{origins.Any() && !c.authenticates(), "http.origins: * would let every web page that somebody opens act as any user, since there is no authentication; name the origins"},
		{c.TLS.Cert == "" && c.TLS.Key != "", "tls.key: a key needs a certificate; set tls.cert, or remove tls.key"},
		{c.TLS.Cert != "" && c.TLS.Key == "", "tls.cert: a certificate needs its key; set tls.key, or remove tls.cert"},
	}
}
