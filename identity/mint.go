package identity

import (
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Grant is what a minted token says.
type Grant struct {
	User             string
	Scopes           []string
	Issuer, Audience string    // "" leaves them out
	Issued, Expires  time.Time // both are needed
}

// Mint makes a token that is signed with a secret (HS256): for trying things and for
// services that issue tokens to their own users.
func Mint(secret []byte, g Grant) (string, error) {
	switch {
	case len(secret) < shortestSecret:
		return "", fmt.Errorf("the secret must have at least %d bytes, not %d", shortestSecret, len(secret))
	case !checkUser(g.User):
		return "", ErrBadUser
	}
	c := jwt.MapClaims{"sub": g.User, "iat": g.Issued.Unix(), "exp": g.Expires.Unix()}
	for name, value := range map[string]string{"iss": g.Issuer, "aud": g.Audience, "scope": strings.Join(g.Scopes, " ")} {
		if value != "" {
			c[name] = value
		}
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(secret)
}
