// Package identity decides who a request comes from and whose thread an id names.
//
// An Authenticator turns a request, or a token alone, into an Identity. There are two:
// NoAuth, which believes ?user=NAME and is for loopback, and JWT, which verifies signed
// tokens with keys from a shared secret, from files of public keys, and from the JWKS
// endpoint of an identity provider.
//
// # Guarantees
//
//   - Every key has one algorithm: a secret HS256, an RSA key RS256, a P-256 key ES256, an
//     Ed25519 key EdDSA. The token's header only chooses among the keys that have the
//     algorithm it names. Keys that a token carries or points to (jwk, jku, x5c, x5u) are
//     never looked at; crit is refused.
//   - A token must have exp and sub. iss and aud must be as configured; nbf and iat count
//     when they are there. No claim may be there twice, and names are told apart by case.
//   - sub must be an id that the log takes and that decodes to itself, so that no two
//     subjects are one user.
//   - A token longer than 8 KiB is refused before anything of it is decoded.
//   - Identity.Thread is the only way from an outside id to an eventlog.Thread. The edges
//     make none themselves; a test reads their source for it.
//   - No error and no log line contains a token or a part of one.
//
// # Concurrency
//
// Everything may be used by many goroutines. Authenticate and Verify block only when the
// token names a key that the JWKS is not known to have: then the set is fetched again,
// once for all who wait, at most every ten seconds, for at most five seconds.
//
// # Failure model
//
// The JWKS endpoint is fetched every 15 minutes by Run. When it is down, answers garbage or
// an empty set, the last good keys stay in force, however long; so do the keys of files that
// have become unreadable. While there are no keys at all, or a key is unknown and the last
// fetch failed, the answer is ErrUnavailable (try again) and not ErrUnauthorized. A key that
// is taken out of the set verifies no further token, but what was verified before stays so
// until it expires.
package identity
