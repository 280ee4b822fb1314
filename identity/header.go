package identity

import (
	"encoding/base64"
	"strings"
)

// header is what counts of a token's header. Everything else, above all keys and addresses
// of keys, is not even read.
type header struct {
	alg, kid string
}

func parseHeader(token string) (header, error) {
	segment, _, _ := strings.Cut(token, ".")
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil {
		return header{}, reasonMalformed
	}
	members, err := strictObject(decoded)
	if err != nil {
		return header{}, err
	}
	if _, critical := members["crit"]; critical {
		return header{}, reasonCritical // it would have to be understood, and none is
	}
	alg, ok := text(members["alg"])
	if !ok || !knownAlgorithm(alg) {
		return header{}, reasonAlgorithm
	}
	kid, ok := text(members["kid"])
	if !ok {
		return header{}, reasonMalformed
	}
	return header{alg: alg, kid: kid}, nil
}
