package identity_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"turnlog/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "0123456789abcdef0123456789abcdef"

// pairs are made once: RSA keys take a while.
var pairs = sync.OnceValue(func() (p struct {
	rsa, rsa2 *rsa.PrivateKey
	ec, ec384 *ecdsa.PrivateKey
	ed        ed25519.PrivateKey
}) {
	p.rsa, _ = rsa.GenerateKey(rand.Reader, 2048)
	p.rsa2, _ = rsa.GenerateKey(rand.Reader, 2048)
	p.ec, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p.ec384, _ = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, p.ed, _ = ed25519.GenerateKey(rand.Reader)
	return p
})

// object is a JSON object.
type object = map[string]any

// good are claims that are in order.
func good(changes object) object {
	now := time.Now()
	c := object{"sub": "ann", "iss": "https://issuer.example", "aud": "turnlog", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for k, v := range changes {
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
	return c
}

// sign makes a token; header adds to its header.
func sign(t testing.TB, method jwt.SigningMethod, key any, claims, header object) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	for k, v := range header {
		token.Header[k] = v
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// signText signs header and claims as they are written, with the shared secret.
func signText(t testing.TB, header, claims string) string {
	t.Helper()
	text := b64([]byte(header)) + "." + b64([]byte(claims))
	signature, err := jwt.SigningMethodHS256.Sign(text, []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64(signature)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// keyFile writes public keys to a PEM file.
func keyFile(t testing.TB, keys ...crypto.PublicKey) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.pem")
	writeKeys(t, path, keys...)
	return path
}

func writeKeys(t testing.TB, path string, keys ...crypto.PublicKey) {
	t.Helper()
	if err := os.WriteFile(path, pemOf(t, keys...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pemOf(t testing.TB, keys ...crypto.PublicKey) (text []byte) {
	t.Helper()
	for _, k := range keys {
		der, err := x509.MarshalPKIXPublicKey(k)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)
	}
	return text
}

// jwk is a public key as a set has it.
func jwk(kid string, public crypto.PublicKey, more object) object {
	o := object{"kid": kid, "use": "sig"}
	switch k := public.(type) {
	case *rsa.PublicKey:
		o["kty"], o["n"], o["e"] = "RSA", b64(k.N.Bytes()), b64(big.NewInt(int64(k.E)).Bytes())
	case *ecdsa.PublicKey:
		point, _ := k.Bytes() // 4, x, y
		size := len(point) / 2
		o["kty"], o["crv"] = "EC", k.Curve.Params().Name
		o["x"], o["y"] = b64(point[1:1+size]), b64(point[1+size:])
	case ed25519.PublicKey:
		o["kty"], o["crv"], o["x"] = "OKP", "Ed25519", b64(k)
	}
	for key, v := range more {
		o[key] = v
	}
	return o
}

// counts records what an Authenticator tells its metrics.
type counts struct {
	mu      sync.Mutex
	refused []string
	fetched []string
}

func (c *counts) Refused(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = append(c.refused, reason)
}

func (c *counts) Fetched(result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched = append(c.fetched, result)
}

func (c *counts) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refused) == 0 {
		return ""
	}
	return c.refused[len(c.refused)-1]
}

// newJWT makes an authenticator for tokens to "turnlog" from the issuer, without leeway.
func newJWT(t testing.TB, o identity.Options) *identity.JWT {
	t.Helper()
	o.Issuer, o.Audience = "https://issuer.example", "turnlog"
	if o.Leeway == 0 {
		o.Leeway = -1
	}
	j, err := identity.NewJWT(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// noted is a log that is looked at for what must not be in it.
type noted struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *noted) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *noted) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
