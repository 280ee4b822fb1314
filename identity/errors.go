package identity

import "errors"

// Why nobody was identified. Their texts are for clients and tell no details: those are
// logged at debug and counted.
var (
	ErrUnauthorized = errors.New("authentication is required")                 // 401
	ErrForbidden    = errors.New("access is not allowed")                      // 403
	ErrUnavailable  = errors.New("authentication is not available, try again") // 503
)

// ErrBadUser is what NoAuth says of a ?user= that is no name; it is an ErrUnauthorized.
var ErrBadUser error = badUser{}

type badUser struct{}

func (badUser) Error() string {
	return "user must be valid UTF-8 of at most 256 bytes when escaped"
}

func (badUser) Unwrap() error { return ErrUnauthorized }

// reason says why a token was refused, in a word fit for a metric's label.
type reason string

// The reasons. They never say more than which check failed.
const (
	reasonNoToken     reason = "no_token"
	reasonAmbiguous   reason = "two_tokens"
	reasonTooLong     reason = "too_long"
	reasonMalformed   reason = "malformed"
	reasonAlgorithm   reason = "algorithm"
	reasonCritical    reason = "critical"
	reasonUnknownKey  reason = "unknown_key"
	reasonSignature   reason = "signature"
	reasonClaims      reason = "claims"
	reasonExpired     reason = "expired"
	reasonEarly       reason = "not_yet_valid"
	reasonIssuer      reason = "issuer"
	reasonAudience    reason = "audience"
	reasonSubject     reason = "subject"
	reasonUnavailable reason = "keys_unavailable"
)

// Error implements error.
func (r reason) Error() string { return string(r) }

// public is what callers are told.
func (r reason) public() error {
	if r == reasonUnavailable {
		return ErrUnavailable
	}
	return ErrUnauthorized
}

// Reasons lists what Metrics.Refused may be told.
func Reasons() []string {
	var all []string
	for _, why := range []reason{
		reasonNoToken, reasonAmbiguous, reasonTooLong, reasonMalformed, reasonAlgorithm, reasonCritical, reasonUnknownKey, reasonSignature,
		reasonClaims, reasonExpired, reasonEarly, reasonIssuer, reasonAudience, reasonSubject, reasonUnavailable,
	} {
		all = append(all, string(why))
	}
	return all
}
