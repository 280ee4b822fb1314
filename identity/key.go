package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"slices"

	"github.com/golang-jwt/jwt/v5"
)

// algorithms are the ones that a key can have here. "none" is not among them.
var algorithms = []string{"HS256", "RS256", "ES256", "EdDSA"}

func knownAlgorithm(alg string) bool { return slices.Contains(algorithms, alg) }

// key verifies signatures of one algorithm.
type key struct {
	alg    string
	kid    string // "" fits every kid
	verify jwt.VerificationKey
}

// keys is a set of keys; it is not changed once it is in use.
type keys []key

// fitting returns the keys that a token with this header may have been signed with.
func (k keys) fitting(h header) []jwt.VerificationKey {
	var fit []jwt.VerificationKey
	for _, one := range k {
		if one.alg == h.alg && (one.kid == h.kid || one.kid == "" || h.kid == "") {
			fit = append(fit, one.verify)
		}
	}
	return fit
}

// named reports whether there is a key of just this name.
func (k keys) named(h header) bool {
	return h.kid != "" && slices.ContainsFunc(k, func(one key) bool { return one.alg == h.alg && one.kid == h.kid })
}

const (
	leastRSABits = 2048
	mostRSABits  = 8192 // larger ones would make every handshake dear
)

// pin gives a public key its one algorithm.
func pin(public any) (key, error) {
	switch p := public.(type) {
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits < leastRSABits || bits > mostRSABits || p.E < 3 || p.E%2 == 0 {
			return key{}, errors.New("an RSA key must have 2048 to 8192 bits and an odd exponent")
		}
		return key{alg: "RS256", verify: p}, nil
	case *ecdsa.PublicKey:
		if p.Curve != elliptic.P256() {
			return key{}, errors.New("an elliptic curve key must be of curve P-256")
		}
		if _, err := p.ECDH(); err != nil {
			return key{}, errors.New("the point is not on curve P-256")
		}
		return key{alg: "ES256", verify: p}, nil
	case ed25519.PublicKey:
		return key{alg: "EdDSA", verify: p}, nil
	}
	return key{}, errors.New("a public key must be RSA, P-256 or Ed25519")
}
