package client_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/client"
)

// TestReauthExtendsAConnectionBeforeItsTokenExpires runs most of an hour on a clock of its own, against
// a server that closes connections when their token has expired.
func TestReauthExtendsAConnectionBeforeItsTokenExpires(t *testing.T) {
	const minute = time.Minute
	for name, row := range map[string]struct {
		before  time.Duration // Options.ReauthBefore
		skew    time.Duration // the server's clock minus the client's
		token   func(n int, now time.Time) string
		refuse  bool            // the server refuses every reauth
		never   bool            // it says that the connection never expires
		reauths []time.Duration // when the client sends them
		dials   []time.Duration
	}{
		"in time, again and again": {
			token:   func(_ int, now time.Time) string { return jwt(now.Add(25 * minute)) },
			reauths: []time.Duration{24*minute + 30*time.Second, 49 * minute}, dials: []time.Duration{0},
		},
		"by the clock of the server": {
			skew:    10 * minute,
			token:   func(_ int, now time.Time) string { return jwt(now.Add(10*minute + 40*minute)) },
			reauths: []time.Duration{39*minute + 30*time.Second}, dials: []time.Duration{0},
		},
		"tokens that live shorter than that": {
			before: 30 * minute, token: func(_ int, now time.Time) string { return jwt(now.Add(20 * minute)) },
			reauths: []time.Duration{10 * minute, 20 * minute, 30 * minute, 40 * minute, 50 * minute}, dials: []time.Duration{0},
		},
		"a source that has nothing newer is asked some more times": {
			token: func(n int, now time.Time) string {
				if n < 6 { // once to connect, and at 30, 15, 7.5, 3.75 and 1.875 s before
					return jwt(time.Date(2000, 1, 1, 0, 40, 0, 0, time.UTC))
				}
				return jwt(now.Add(time.Hour))
			},
			dials: []time.Duration{0, 40 * minute},
		},
		"refused, the connection is what it was": {
			refuse: true, token: func(_ int, now time.Time) string { return jwt(now.Add(40 * minute)) },
			reauths: []time.Duration{
				39*minute + 30*time.Second, 39*minute + 45*time.Second, 39*minute + 52500*time.Millisecond,
				39*minute + 56250*time.Millisecond, 39*minute + 58125*time.Millisecond,
			},
			dials: []time.Duration{0, 40 * minute},
		},
		"for ever": {
			never: true, token: func(_ int, now time.Time) string { return jwt(now.Add(10 * minute)) },
			reauths: []time.Duration{9*minute + 30*time.Second}, dials: []time.Duration{0},
		},
		"no JWT": {
			token: func(int, time.Time) string { return "opaque" }, dials: []time.Duration{0},
		},
		"not wanted": {
			before: -1, token: func(_ int, now time.Time) string { return jwt(now.Add(40 * minute)) },
			dials: []time.Duration{0, 40 * minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				asked, token := 0, ""
				o := client.Options{ReauthBefore: row.before, Token: func(context.Context) (string, error) {
					token = row.token(asked, time.Now())
					asked++
					return token, nil
				}}
				var reauths, dials []time.Duration
				var servers sync.WaitGroup
				dial := func(context.Context) (client.Socket, error) {
					dials = append(dials, time.Since(begin))
					var expiry *time.Timer
					s := newLabSocket(func(s *labSocket, m object) {
						if m["type"] != "reauth" {
							return
						}
						reauths = append(reauths, time.Since(begin))
						e := client.Expiry(m["token"].(string))
						switch {
						case row.refuse:
							s.say(object{"error": "unauthorized", "code": "unauthorized", "message": "no", "request_id": m["request_id"]})
							return
						case row.never:
							expiry.Stop()
							s.say(object{"message": "Reauthenticated", "expires_at": nil, "request_id": m["request_id"]})
							return
						}
						expiry.Reset(e.Sub(time.Now().Add(row.skew)))
						s.say(object{"message": "Reauthenticated", "expires_at": e.Format(time.RFC3339), "request_id": m["request_id"]})
					})
					expiry = time.AfterFunc(24*time.Hour, func() { s.end(client.ClosedBy(4001)) })
					if e := client.Expiry(token); !e.IsZero() {
						expiry.Reset(e.Sub(time.Now().Add(row.skew)))
					}
					s.welcome(time.Now().Add(row.skew))
					s.heartbeat(&servers)
					return s, nil
				}
				lab(t, 55*time.Minute, o, dial, nil)
				servers.Wait()
				if !slices.Equal(reauths, row.reauths) || !slices.Equal(dials, row.dials) {
					t.Errorf("reauths at %v, want %v; dials at %v, want %v", reauths, row.reauths, dials, row.dials)
				}
			})
		})
	}
}

func TestExpiryOfTokens(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for token, want := range map[string]time.Time{
		jwt(at): at, "": {}, "opaque": {}, "a.b.c": {}, "a.e30.c": {}, jwt(time.Unix(0, 0)): {}, jwt(time.Unix(1<<50, 0)): {},
		"a.eyJleHAiOiIxIn0.c": {}, // a string
	} {
		if got := client.Expiry(token); !got.Equal(want) {
			t.Errorf("%q expires %v, want %v", token, got, want)
		}
	}
}
