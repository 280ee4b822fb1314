package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"turnlog/identity"
)

// AuthConfig says whom to believe.
type AuthConfig struct {
	Mode       string
	Secret     string
	KeyFiles   []string
	JWKSURL    string
	Issuer     string
	Audience   string
	AdminScope string
}

// The values of auth.mode.
const (
	authNone = "none"
	authJWT  = "jwt"
)

const leastSecret = 32 // bytes

// sources names the settings that say where keys come from and are given.
func (a AuthConfig) sources() []string {
	var given []string
	for _, s := range []struct{ key, value string }{
		{"auth.secret", a.Secret}, {"auth.key_files", strings.Join(a.KeyFiles, "")}, {"auth.jwks_url", a.JWKSURL},
	} {
		if s.value != "" {
			given = append(given, s.key)
		}
	}
	return given
}

func (c *Config) authRules() []rule {
	a := c.Auth
	sources := a.sources()
	urlError := identity.CheckJWKSURL(a.JWKSURL)
	return []rule{
		{a.Mode == authNone && len(sources) > 0, fmt.Sprintf("auth.mode: none looks at no token, but %s was given; set auth.mode to jwt, or remove it", strings.Join(sources, " and "))},
		{a.Mode == authNone && (a.Issuer != "" || a.Audience != ""), "auth.mode: none looks at no token, but auth.issuer or auth.audience was given; set auth.mode to jwt, or remove them"},
		{a.Mode == authJWT && len(sources) == 0, "auth.mode: jwt needs keys; give auth.secret in the environment or the file, auth.key_files, or auth.jwks_url"},
		{a.Secret != "" && len(a.Secret) < leastSecret, fmt.Sprintf("auth.secret: %d bytes can be guessed; use at least %d, for example from: openssl rand -base64 48", len(a.Secret), leastSecret)},
		{a.JWKSURL != "" && urlError != nil, fmt.Sprintf("auth.jwks_url: it %v", urlError)},
		{a.AdminScope == "" || strings.ContainsAny(a.AdminScope, " \t\n"), fmt.Sprintf("auth.admin_scope: %q is not one scope; use a word like %s", a.AdminScope, identity.ScopeAdmin)},
	}
}

// authWarnings warns of what is possible and seldom meant.
func (c *Config) authWarnings() []string {
	if c.Auth.Mode == authJWT && c.Auth.Audience == "" && (c.Auth.JWKSURL != "" || len(c.Auth.KeyFiles) > 0) {
		return []string{"auth.audience is empty: tokens that the same issuer made for other services are let in too; set it to this service's name"}
	}
	return nil
}

// newAuth makes what decides who people are. keys is nil unless it has keys to keep up
// to date, with Run.
func newAuth(config Config, logger *slog.Logger, counts identity.Metrics) (auth identity.Authenticator, keys *identity.JWT, err error) {
	a := config.Auth
	if a.Mode != authJWT {
		host, _, _ := net.SplitHostPort(config.Listen)
		return identity.NoAuth{Admin: loopback(host), AdminScope: a.AdminScope}, nil, nil
	}
	keys, err = identity.NewJWT(identity.Options{
		Secret: []byte(a.Secret), KeyFiles: a.KeyFiles, JWKSURL: a.JWKSURL,
		Issuer: a.Issuer, Audience: a.Audience,
		Logger: logger, Metrics: counts,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("auth.key_files: %w", err) // all else was checked before
	}
	return keys, keys, nil
}

// forgetSecrets takes what agents' programs must not inherit out of the environment:
// whoever has the secret can be any user.
func forgetSecrets() {
	for _, s := range settings {
		if s.unflagged {
			_ = os.Unsetenv(s.env())
		}
	}
}
