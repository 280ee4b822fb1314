package identity

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// longestToken bounds a token in bytes, before anything of it is looked at.
const longestToken = 8 << 10

// JWT identifies people by signed tokens. Run must be running while it is used, unless
// its only key is a secret.
type JWT struct {
	opts   Options
	parser *jwt.Parser
	secret keys
	files  *keyFiles // nil without files
	jwks   *jwks     // nil without an address
}

var _ Authenticator = (*JWT)(nil)

// NewJWT reads the key files and returns an Authenticator. The JWK set is fetched later.
func NewJWT(opts Options) (*JWT, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	j := &JWT{opts: opts, parser: newParser(opts)}
	if len(opts.Secret) > 0 {
		j.secret = keys{{alg: "HS256", verify: opts.Secret}}
	}
	if len(opts.KeyFiles) > 0 {
		var err error
		if j.files, err = readKeyFiles(opts.KeyFiles); err != nil {
			return nil, err
		}
	}
	if opts.JWKSURL != "" {
		j.jwks = newJWKS(opts)
	}
	return j, nil
}

func newParser(o Options) *jwt.Parser {
	rules := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(o.Leeway), jwt.WithTimeFunc(o.Now),
	}
	if o.Issuer != "" {
		rules = append(rules, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		rules = append(rules, jwt.WithAudience(o.Audience))
	}
	return jwt.NewParser(rules...)
}

// Authenticate implements Authenticator.
func (j *JWT) Authenticate(ctx context.Context, r *http.Request) (Identity, error) {
	token, err := findToken(r)
	if err != nil {
		return Identity{}, j.refuse(err)
	}
	return j.Verify(ctx, token)
}

// Verify implements Authenticator.
func (j *JWT) Verify(ctx context.Context, token string) (Identity, error) {
	who, err := j.verify(ctx, token)
	if err != nil {
		return Identity{}, j.refuse(err)
	}
	return who, nil
}

// refuse counts and logs why a token is not believed, and returns what its sender is told.
func (j *JWT) refuse(err error) error {
	why := reasonOf(err)
	j.opts.Metrics.Refused(string(why))
	j.opts.Logger.Debug("a token was refused", "reason", string(why))
	return why.public()
}

func (j *JWT) verify(ctx context.Context, token string) (Identity, error) {
	switch {
	case token == "":
		return Identity{}, reasonNoToken
	case len(token) > longestToken:
		return Identity{}, reasonTooLong
	}
	h, err := parseHeader(token)
	if err != nil {
		return Identity{}, err
	}
	who, err := j.try(token, j.known(h))
	if err == nil || !j.mayBeNewer(h, err) {
		return who, err
	}
	if err := j.jwks.learn(ctx); err != nil {
		return Identity{}, reasonUnavailable
	}
	return j.try(token, j.known(h))
}

// mayBeNewer reports whether the JWK set may by now have the key that is missing.
func (j *JWT) mayBeNewer(h header, err error) bool {
	if j.jwks == nil || h.alg == "HS256" || j.jwks.current().named(h) {
		return false
	}
	why := reasonOf(err)
	return why == reasonUnknownKey || why == reasonSignature
}

// known returns the keys that fit a header.
func (j *JWT) known(h header) []jwt.VerificationKey {
	fit := j.secret.fitting(h)
	if j.files != nil {
		fit = append(fit, j.files.current().fitting(h)...)
	}
	if j.jwks != nil {
		fit = append(fit, j.jwks.current().fitting(h)...)
	}
	return fit
}

// try verifies a token with some keys, all of the algorithm that its header names.
func (j *JWT) try(token string, fit []jwt.VerificationKey) (Identity, error) {
	var c claims
	_, err := j.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) {
		if len(fit) == 0 {
			return nil, reasonUnknownKey
		}
		return jwt.VerificationKeySet{Keys: fit}, nil
	})
	if err != nil {
		return Identity{}, err
	}
	if c.subject == "" {
		return Identity{}, reasonSubject // the claims were null
	}
	return Identity{User: c.subject, Scopes: c.scopes, Expires: c.expires.Add(j.opts.Leeway)}, nil
}

// parserReasons maps the parser's errors, the more telling ones first.
var parserReasons = []struct {
	err error
	why reason
}{
	{jwt.ErrTokenSignatureInvalid, reasonSignature},
	{jwt.ErrTokenExpired, reasonExpired},
	{jwt.ErrTokenNotValidYet, reasonEarly},
	{jwt.ErrTokenUsedBeforeIssued, reasonEarly},
	{jwt.ErrTokenInvalidIssuer, reasonIssuer},
	{jwt.ErrTokenInvalidAudience, reasonAudience},
	{jwt.ErrTokenRequiredClaimMissing, reasonClaims},
	{jwt.ErrTokenInvalidClaims, reasonClaims},
}

// reasonOf sorts an error of verify; what is not known is malformed.
func reasonOf(err error) reason {
	var why reason
	if errors.As(err, &why) {
		return why
	}
	for _, known := range parserReasons {
		if errors.Is(err, known.err) {
			return known.why
		}
	}
	return reasonMalformed
}

// fileEvery is how often key files are looked at for changes.
const fileEvery = 30 * time.Second

// Run keeps the keys up to date until ctx ends. It returns nil.
func (j *JWT) Run(ctx context.Context) error {
	looks := time.NewTicker(fileEvery)
	defer looks.Stop()
	fetch := time.NewTimer(0)
	defer fetch.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
			j.reload()
		case <-fetch.C:
			if j.jwks != nil {
				fetch.Reset(j.jwks.runOnce(ctx))
			}
		}
	}
}

// reload reads the key files again when one has changed.
func (j *JWT) reload() {
	if j.files == nil {
		return
	}
	changed, err := j.files.reload()
	switch {
	case err != nil:
		j.opts.Logger.Warn("the key files cannot be read, the keys before stay in force", "error", err)
	case changed:
		j.opts.Logger.Info("the key files were read again", "keys", len(j.files.current()))
	}
}
