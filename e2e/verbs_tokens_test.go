package e2e_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	verbsIssuer   = "https://issuer.example"
	verbsAudience = "turnlog"
)

// passes makes tokens for a node that believes a secret and the keys of a file.
type passes struct {
	file  string // the public key, PEM
	key   *rsa.PrivateKey
	other *rsa.PrivateKey
}

func newPasses(t testing.TB) *passes {
	t.Helper()
	p := new(passes)
	for _, k := range []**rsa.PrivateKey{&p.key, &p.other} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		*k = key
	}
	der, err := x509.MarshalPKIXPublicKey(&p.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	p.file = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return p
}

func claims(user string, more ...jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": user, "iss": verbsIssuer, "aud": verbsAudience, "exp": time.Now().Add(time.Hour).Unix()}
	for _, m := range more {
		for k, v := range m {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
	}
	return c
}

func sign(t testing.TB, method jwt.SigningMethod, key any, c jwt.MapClaims, header ...string) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	for i := 0; i < len(header); i += 2 {
		token.Header[header[i]] = header[i+1]
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// good is a token that is believed.
func (p *passes) good(t testing.TB, user string, more ...jwt.MapClaims) string {
	return sign(t, jwt.SigningMethodRS256, p.key, claims(user, more...))
}

// bad are tokens for ann with further claims, one of every kind that must not be believed. Each differs
// from a good one in what its name says.
func (p *passes) bad(t testing.TB, more ...jwt.MapClaims) map[string]string {
	t.Helper()
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	_, strange, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := p.good(t, "ann", more...)
	parts := strings.Split(good, ".")
	rsaKey := func(c jwt.MapClaims) string {
		return sign(t, jwt.SigningMethodRS256, p.key, claims("ann", append(more, c)...))
	}
	return map[string]string{
		"none at all":              "",
		"garbage":                  "garbage",
		"three empty parts":        "..",
		"another key":              sign(t, jwt.SigningMethodRS256, p.other, claims("ann", more...)),
		"another secret":           sign(t, jwt.SigningMethodHS256, []byte("a secret of somebody else, 32 bytes"), claims("ann", more...)),
		"another algorithm":        sign(t, jwt.SigningMethodRS512, p.key, claims("ann", more...)),
		"another kind of key":      sign(t, jwt.SigningMethodEdDSA, strange, claims("ann", more...)),
		"an unknown key id":        sign(t, jwt.SigningMethodRS256, p.other, claims("ann", more...), "kid", "unknown"),
		"a key of its own":         sign(t, jwt.SigningMethodRS256, p.other, claims("ann", more...), "jku", "http://127.0.0.1:1/keys"),
		"alg none":                 sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims("ann", more...)),
		"the public key as secret": sign(t, jwt.SigningMethodHS256, []byte(p.file), claims("ann", more...)),
		"expired":                  rsaKey(jwt.MapClaims{"exp": past}),
		"without an end":           rsaKey(jwt.MapClaims{"exp": nil}),
		"not yet valid":            rsaKey(jwt.MapClaims{"nbf": future}),
		"from the future":          rsaKey(jwt.MapClaims{"iat": future}),
		"another issuer":           rsaKey(jwt.MapClaims{"iss": "https://evil.example"}),
		"another audience":         rsaKey(jwt.MapClaims{"aud": "billing"}),
		"no audience":              rsaKey(jwt.MapClaims{"aud": nil}),
		"nobody":                   rsaKey(jwt.MapClaims{"sub": nil}),
		"a number for a name":      rsaKey(jwt.MapClaims{"sub": 7}),
		"no signature":             parts[0] + "." + parts[1] + ".",
		"the signature of another": parts[0] + "." + parts[1] + "." + strings.Split(p.good(t, "bob", more...), ".")[2],
		"too long":                 rsaKey(jwt.MapClaims{"fill": strings.Repeat("x", 9<<10)}),
	}
}
