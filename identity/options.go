package identity

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Options configure a JWT. At least one source of keys is needed; several may be given,
// which is how one moves from one to the next.
type Options struct {
	Secret   []byte   // for HS256, at least 32 bytes
	KeyFiles []string // PEM files of public keys: RSA (RS256), P-256 (ES256), Ed25519 (EdDSA)
	JWKSURL  string   // a JWK set: https, or http on loopback

	Issuer   string        // what iss must be; "" = anything
	Audience string        // what aud must contain; "" = anything, which lets in tokens made for other services
	Leeway   time.Duration // how far clocks may differ (default 30 s, negative = none)

	Client  *http.Client     // fetches the JWK set; default: one of its own
	Now     func() time.Time // default: time.Now
	Logger  *slog.Logger     // default: discards
	Metrics Metrics          // default: none
}

// Metrics is told what happens to tokens and keys. Calls must not block.
type Metrics interface {
	// Refused counts tokens that were not believed, by a word for the check that failed.
	Refused(reason string)
	// Fetched counts fetches of the JWK set; result is "ok" or "failed".
	Fetched(result string)
}

type noMetrics struct{}

func (noMetrics) Refused(string) {}
func (noMetrics) Fetched(string) {}

const (
	defaultLeeway  = 30 * time.Second
	shortestSecret = 32
	mostKeyFiles   = 16
)

func (o Options) withDefaults() Options {
	switch {
	case o.Leeway == 0:
		o.Leeway = defaultLeeway
	case o.Leeway < 0:
		o.Leeway = 0
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o
}

func (o Options) validate() error {
	switch {
	case len(o.Secret) == 0 && len(o.KeyFiles) == 0 && o.JWKSURL == "":
		return errors.New("identity: Secret, KeyFiles or JWKSURL is needed to verify tokens")
	case len(o.Secret) > 0 && len(o.Secret) < shortestSecret:
		return fmt.Errorf("identity: Secret must have at least %d bytes, not %d", shortestSecret, len(o.Secret))
	case len(o.KeyFiles) > mostKeyFiles:
		return fmt.Errorf("identity: KeyFiles must be at most %d, not %d", mostKeyFiles, len(o.KeyFiles))
	case o.JWKSURL != "":
		if err := CheckJWKSURL(o.JWKSURL); err != nil {
			return fmt.Errorf("identity: JWKSURL %w", err)
		}
	}
	return nil
}

// CheckJWKSURL says what is wrong with an address of a JWK set: whoever can change the
// answer can be any user, so only this machine is asked without TLS.
func CheckJWKSURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("is not a URL like https://issuer.example/.well-known/jwks.json")
	case u.Scheme == "https" || (u.Scheme == "http" && loopback(u.Hostname())):
		return nil
	}
	return errors.New("must be https, unless the host is this machine")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
