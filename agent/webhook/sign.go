package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a signed POST.
const (
	HeaderID        = "Webhook-Id"        // the same when a POST is repeated
	HeaderTimestamp = "Webhook-Timestamp" // Unix seconds
	HeaderSignature = "Webhook-Signature" // "v1," and base64; several are parted by spaces
)

// HeaderProtocol has the version of the protocol of a POST. A response may have it
// too, then as the versions that the server speaks ("1" or "1, 2"): without ours
// among them the turn fails.
const HeaderProtocol = "Turnlog-Protocol"

// Tolerance is how far a signature's time may be from the verifier's clock.
const Tolerance = 5 * time.Minute

// What Verify finds.
var (
	ErrSignature = errors.New("the webhook's signature is missing or wrong")
	ErrTooOld    = errors.New("the webhook's timestamp is too far from now")
)

const minSecret = 16

type key []byte

func newKey(secret string) (key, error) {
	k := key(secret)
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		var err error
		if k, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, errors.New("what follows whsec_ must be base64")
		}
	}
	if len(k) < minSecret {
		return nil, errors.New("must have at least 16 bytes")
	}
	return k, nil
}

// sign returns the signature header of a body.
func (k key) sign(id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Verify checks that body was signed with secret and not long before or after
// now, for servers written in Go. It takes the same time whatever is wrong with
// the signature. Whoever must not act twice on a repeated POST remembers its
// Webhook-Id for the time of the Tolerance.
func Verify(secret string, header http.Header, body []byte, now time.Time) error {
	k, err := newKey(secret)
	if err != nil {
		return err
	}
	timestamp := header.Get(HeaderTimestamp)
	want := []byte(k.sign(header.Get(HeaderID), timestamp, body))
	good := false
	for _, got := range strings.Fields(header.Get(HeaderSignature)) {
		if hmac.Equal([]byte(got), want) {
			good = true
		}
	}
	if !good {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return ErrTooOld
	}
	return nil
}
