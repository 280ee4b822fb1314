package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/MicahParks/jwkset"
)

const (
	largestSet = 256 << 10
	mostKeys   = 64
)

// get fetches and reads a JWK set. jwkset's own HTTP client is not used: it reads answers
// of any size and forgets its keys when it is answered with an empty set.
func get(ctx context.Context, client *http.Client, address string) (keys, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := client.Do(r)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer was %s", answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, largestSet+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > largestSet:
		return nil, errors.New("the answer is larger than 256 KiB")
	}
	return parseSet(text)
}

// withoutURL drops the address, which may hold a password.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// parseSet reads the keys of a set that can verify tokens here; others are left out.
func parseSet(text []byte) (keys, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(text, &set) != nil {
		return nil, errors.New("the answer is not a JWK set")
	}
	if len(set.Keys) > mostKeys {
		return nil, fmt.Errorf("the set has more than %d keys", mostKeys)
	}
	var found keys
	for _, text := range set.Keys {
		if one, ok := parseJWK(text); ok {
			found = append(found, one)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("the set has no key for RS256, ES256 or EdDSA signatures")
	}
	return found, nil
}

// parseJWK reads one public key for signatures.
func parseJWK(text []byte) (key, bool) {
	var m jwkset.JWKMarshal
	if json.Unmarshal(text, &m) != nil {
		return key{}, false
	}
	forVerifying := len(m.KEYOPS) == 0 || slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify)
	if (m.USE != "" && m.USE != jwkset.UseSig) || !forVerifying {
		return key{}, false
	}
	// Only the public numbers: a secret that is published is none, and certificates say
	// nothing that the set does not.
	public := jwkset.JWKMarshal{KTY: m.KTY, CRV: m.CRV, X: m.X, Y: m.Y, N: m.N, E: m.E}
	jwk, err := jwkset.NewJWKFromMarshal(public, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return key{}, false
	}
	one, err := pin(jwk.Key())
	if err != nil || (m.ALG != "" && m.ALG.String() != one.alg) {
		return key{}, false
	}
	one.kid = m.KID
	return one, true
}
