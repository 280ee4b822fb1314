package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// leastLeft is the shortest rest of a token's life in which another try to extend its
// connection is made.
const leastLeft = 2 * time.Second

// reauth is a connection's extension by a newer token. The Client's lock guards it.
type reauth struct {
	id     string // request_id of the one without answer, "" = none
	answer chan incoming
}

// renew extends a connection before its token expires, again and again, until ctx ends.
// It ends earlier when that cannot be done: then the server closes the connection,
// and the next one has a new token anyway. skew is the server's clock minus ours.
func (c *Client) renew(ctx context.Context, token string, skew time.Duration) {
	expires := expiry(token)
	for !expires.IsZero() {
		left := expires.Sub(time.Now().Add(skew))
		if left < leastLeft || !sleep(ctx, untilRenewal(left, c.o.ReauthBefore)) {
			return
		}
		fresh, err := c.token(ctx)
		if err != nil {
			c.o.Logger.Debug("no token to extend the connection with", "error", err)
			continue
		}
		if e := expiry(fresh); !e.IsZero() && !e.After(expires) {
			continue // still the old one
		}
		if in, ok := c.extend(ctx, fresh); ok {
			expires = extended(in, expires)
		}
	}
}

// untilRenewal is the wait before a connection is extended. What is left of its token's life
// may be less than before, at first or because it could not be extended: half of it then.
func untilRenewal(left, before time.Duration) time.Duration {
	if left > before {
		return left - before
	}
	return left / 2
}

// extend sends a token and waits for the answer; false when ctx ends first.
func (c *Client) extend(ctx context.Context, token string) (incoming, bool) {
	answer := make(chan incoming, 1)
	c.mu.Lock()
	id := c.requestIDLocked()
	c.reauth = reauth{id, answer}
	c.out.push(reauthFrame(id, token), nil)
	c.mu.Unlock()
	select {
	case in := <-answer:
		return in, true
	case <-ctx.Done():
		return incoming{}, false
	}
}

func reauthFrame(id, token string) []byte {
	wire, err := json.Marshal(map[string]string{"type": "reauth", "request_id": id, "token": token})
	if err != nil {
		panic(err) // strings only
	}
	return wire
}

// extended is when the connection expires after an answer; the zero time is never.
func extended(in incoming, before time.Time) time.Time {
	var v struct {
		ExpiresAt *time.Time `json:"expires_at"`
	}
	switch {
	case in.failed != "" || json.Unmarshal(in.Raw, &v) != nil:
		return before // it is what it was
	case v.ExpiresAt == nil:
		return time.Time{}
	}
	return *v.ExpiresAt
}

// expiry is when a JWT expires; the zero time when it is none, or does not say.
func expiry(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(b, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1<<40 {
		return time.Time{}
	}
	return time.UnixMilli(int64(claims.Exp * 1000))
}
