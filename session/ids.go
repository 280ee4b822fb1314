package session

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// randomHex returns n random bytes in hex. crypto/rand never fails.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// newTurnID returns a UUIDv7: ids sort by the time they were minted.
func newTurnID(now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[6:])
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// A node's id is new at every start and after every death.
func newNodeID() string { return "n-" + randomHex(8) }

// Request ids are unique per user and cannot be guessed.
func newRequestID() string { return "req_" + randomHex(12) }

func newInputID() string { return "in-" + randomHex(12) }
