package identity

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// claims are what counts of a token's claims.
type claims struct {
	subject, issuer            string
	audience                   jwt.ClaimStrings
	expires, notBefore, issued *jwt.NumericDate
	scopes                     []string
}

var _ jwt.Claims = (*claims)(nil)

// UnmarshalJSON implements json.Unmarshaler.
func (c *claims) UnmarshalJSON(b []byte) error {
	members, err := strictObject(b)
	if err != nil {
		return err
	}
	var ok bool
	if c.subject, ok = text(members["sub"]); !ok || !checkUser(c.subject) {
		return reasonSubject
	}
	if c.issuer, ok = text(members["iss"]); !ok {
		return reasonClaims
	}
	if raw := members["aud"]; raw != nil && json.Unmarshal(raw, &c.audience) != nil {
		return reasonClaims
	}
	for name, date := range map[string]**jwt.NumericDate{"exp": &c.expires, "nbf": &c.notBefore, "iat": &c.issued} {
		if *date, ok = numericDate(members[name]); !ok {
			return reasonClaims
		}
	}
	for _, name := range []string{"scope", "scp", "scopes"} {
		scopes, ok := scopeList(members[name])
		if !ok {
			return reasonClaims
		}
		c.scopes = append(c.scopes, scopes...)
	}
	return nil
}

// lastSecond is the last second of the year 9999: dates beyond it overflow somewhere.
const lastSecond = 253402300799

// numericDate reads a number of seconds; nil when it is absent.
func numericDate(raw json.RawMessage) (*jwt.NumericDate, bool) {
	if raw == nil {
		return nil, true
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || seconds < 0 || seconds > lastSecond {
		return nil, false
	}
	return jwt.NewNumericDate(time.Unix(int64(seconds), 0)), true
}

// scopeList reads scopes: one string with spaces between them, or a list of strings.
func scopeList(raw json.RawMessage) ([]string, bool) {
	var list []string
	switch {
	case raw == nil:
		return nil, true
	case raw[0] == '"':
		s, ok := text(raw)
		return strings.Fields(s), ok
	}
	return list, json.Unmarshal(raw, &list) == nil
}

// GetExpirationTime implements jwt.Claims.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return c.expires, nil }

// GetNotBefore implements jwt.Claims.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return c.notBefore, nil }

// GetIssuedAt implements jwt.Claims.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return c.issued, nil }

// GetAudience implements jwt.Claims.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return c.audience, nil }

// GetIssuer implements jwt.Claims.
func (c *claims) GetIssuer() (string, error) { return c.issuer, nil }

// GetSubject implements jwt.Claims.
func (c *claims) GetSubject() (string, error) { return c.subject, nil }
