package e2e_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"turnlog/client"
	"turnlog/e2e/wire"
	"turnlog/identity"
)

const authSecret = "the secret of the tests, more than 32 bytes"

// guarded is two nodes that believe tokens which are signed with the secret.
func guarded(t *testing.T) *place {
	t.Helper()
	return own(t, twoNodes, "--auth.mode", "jwt", "--config", write(t, "turnlog.yaml", "auth.secret: "+authSecret+"\n", 0o600))
}

// pass is a token that is believed for so long, the leeway of 30 s included.
func pass(t testing.TB, user string, validFor time.Duration) string {
	t.Helper()
	now := time.Now()
	token, err := identity.Mint([]byte(authSecret), identity.Grant{User: user, Issued: now.Add(-time.Hour), Expires: now.Add(validFor - 30*time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// withToken carries a token the way browsers do.
func withToken(token string) wire.Options {
	return wire.Options{Protocols: []string{"turnlog.v1", "bearer." + token}}
}

func (n *node) ws() string { return "ws://" + n.addr + "/ws" }

func TestB101_ExpiryInMidTurnLosesNothing(t *testing.T) {
	t.Parallel()
	p := guarded(t)
	const frames = 300
	story := wire.NewStory("t")
	a := dialWith(t, p.nodes[0].ws(), withToken(pass(t, "ann", 4*time.Second)))
	ack := a.say("t", object{"frames": frames, "interval_ms": 25}, object{"on_disconnect": "cancel"})
	<-a.Done()
	if code := a.CloseCode(); code != 4001 {
		t.Fatalf("closed with %d", code)
	}
	if bad := story.Add(a.Messages()); len(bad) > 0 || story.Cursor < 5 || story.Cursor > frames {
		t.Fatalf("cursor %d, %v", story.Cursor, bad)
	}
	b := dialWith(t, p.nodes[1].ws(), withToken(pass(t, "ann", time.Hour)))
	b.resume("t", object{"last_seq": story.Cursor, "epoch": ack.Str("epoch")})
	if end := b.end("t", ack.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("%s", end)
	}
	if bad := story.Add(b.Messages()); len(bad) > 0 || story.Incomplete > 0 {
		t.Errorf("%d incomplete, %v", story.Incomplete, bad)
	}
	if got := story.Text(ack.Str("turn_id")); got != wire.DemoText(frames, 0) {
		t.Errorf("the text is not whole: %d bytes", len(got))
	}

	// Nobody else sees any of it, in any way that the socket has.
	bob := dialWith(t, p.nodes[0].ws(), withToken(pass(t, "bob", time.Hour)))
	bob.resume("t")
	bob.resume("never")
	seen, none := bob.header("t"), bob.header("never")
	delete(seen.Object, "thread_id")
	delete(none.Object, "thread_id")
	if seen.String() != none.String() {
		t.Errorf("another user's thread says %s, one that never was %s", seen, none)
	}
}

func TestB101_ReauthKeepsTheConnection(t *testing.T) {
	t.Parallel()
	p := guarded(t)
	a := dialWith(t, p.nodes[0].ws(), withToken(pass(t, "ann", 5*time.Second)))
	idle := dialWith(t, p.nodes[0].ws(), withToken(pass(t, "ann", 5*time.Second)))
	old := dialWith(t, p.nodes[0].ws()+"?token="+pass(t, "ann", 5*time.Second), wire.Options{})
	reauth := func(token string) wire.Message {
		mark := a.Mark()
		if err := a.Send(object{"type": "reauth", "token": token, "request_id": fmt.Sprint("reauth ", mark)}); err != nil {
			t.Fatal(err)
		}
		_, m, err := a.Await(mark, wire.Patience, func(m wire.Message) bool { return m.Ack(fmt.Sprint("reauth ", mark)) })
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for name, token := range map[string]string{"another user": pass(t, "bob", time.Hour), "expired": pass(t, "ann", -time.Second), "garbage": "garbage"} {
		if m := reauth(token); m.Str("error") != "unauthorized" || m.Str("code") != "unauthorized" {
			t.Errorf("%s: %s", name, m)
		}
	}
	if m := reauth(pass(t, "ann", time.Hour)); m.Str("message") != "Reauthenticated" || m.Str("expires_at") == "" {
		t.Errorf("%s", m)
	}
	<-idle.Done()
	<-old.Done()
	if idle.CloseCode() != 4001 || old.CloseCode() != 1012 {
		t.Errorf("closed with %d and %d", idle.CloseCode(), old.CloseCode())
	}
	a.settle()
	for _, n := range p.nodes {
		if log := n.stderr.String(); strings.Contains(log, "eyJ") || strings.Contains(log, authSecret) {
			t.Errorf("a token or the secret is in the log:\n%s", log)
		}
	}
}

// TestB116_AClientWithShortTokensReadsALongTurn lets the Go client fetch a token for each
// connection; each one is believed for about two seconds.
func TestB116_AClientWithShortTokensReadsALongTurn(t *testing.T) {
	t.Parallel()
	p := guarded(t)
	const frames = 400
	var fetched atomic.Int64
	var text strings.Builder
	ended := make(chan string, 1)
	c, err := client.New(p.nodes[0].ws(), client.Options{
		Token: func(context.Context) (string, error) {
			fetched.Add(1)
			return pass(t, "ann", 3*time.Second), nil
		},
		Handler: client.Handler{
			OnText:   func(_, s string) { text.WriteString(s) },
			OnFinish: func(f client.Finish) { ended <- f.Outcome },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	if err := c.Open("t", client.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send("t", client.Message{Content: "go", Extra: map[string]any{"demo": object{"frames": frames, "interval_ms": 25}}}); err != nil {
		t.Fatal(err)
	}
	select {
	case outcome := <-ended:
		if outcome != "completed" {
			t.Errorf("ended %s", outcome)
		}
	case err := <-ran:
		t.Fatalf("the client gave up: %v", err)
	}
	stop()
	<-ran
	if got := text.String(); got != wire.DemoText(frames, 0) {
		t.Errorf("the text is not whole: %d bytes", len(got))
	}
	if fetched.Load() < 3 {
		t.Errorf("%d tokens for ten seconds", fetched.Load())
	}
}

// TestB101_ANodeFollowsAnIdentityProvider rotates the keys of a provider under a running node.
func TestB101_ANodeFollowsAnIdentityProvider(t *testing.T) {
	t.Parallel()
	old, next := rsaKey(t), rsaKey(t)
	var answer atomic.Pointer[string]
	publish := func(text string) { answer.Store(&text) }
	publish(jwks(t, "old", old))
	idp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, *answer.Load()) }))
	t.Cleanup(idp.Close)
	p := own(t, embedded, "--auth.mode", "jwt", "--auth.jwks_url", idp.URL, "--auth.issuer", "idp", "--auth.audience", "turnlog")
	token := func(kid string, key *rsa.PrivateKey, audience string) string {
		tok := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"sub": "ann", "iss": "idp", "aud": audience, "exp": time.Now().Add(time.Hour).Unix()})
		tok.Header["kid"] = kid
		text, err := tok.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	status := func(token string) int {
		c, err := wire.Dial(t.Context(), p.nodes[0].ws(), withToken(token))
		if err == nil {
			c.Cut()
			return http.StatusSwitchingProtocols
		}
		for _, code := range []int{401, 403, 503} {
			if strings.Contains(err.Error(), fmt.Sprint(code)) {
				return code
			}
		}
		t.Fatal(err)
		return 0
	}
	for name, row := range map[string]struct {
		token string
		want  int
	}{
		"good": {token("old", old, "turnlog"), 101}, "for another service": {token("old", old, "other"), 401},
		"signed by somebody else": {token("old", next, "turnlog"), 401}, "none": {"", 401},
	} {
		if got := status(row.token); got != row.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	publish(jwks(t, "next", next))
	eventually(t, "a token of the new key is believed", func() bool { return status(token("next", next, "turnlog")) == 101 })
	if got := status(token("old", old, "turnlog")); got != 401 {
		t.Errorf("the old key: %d", got)
	}
	idp.Close()
	if got := status(token("next", next, "turnlog")); got != 101 {
		t.Errorf("with the provider down: %d", got)
	}
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func jwks(t testing.TB, kid string, key *rsa.PrivateKey) string {
	t.Helper()
	b64 := base64.RawURLEncoding.EncodeToString
	b, err := json.Marshal(object{"keys": []object{{
		"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes()),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestB116_ChatReadsItsTokenFileForEachConnection(t *testing.T) {
	t.Parallel()
	p := guarded(t)
	path := filepath.Join(t.TempDir(), "token")
	renew := func(validFor time.Duration) {
		if err := os.WriteFile(path, []byte(pass(t, "ann", validFor)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	renew(4 * time.Second)
	c := chat(t, p.nodes[0].ws(), "--token-file", path, "--data", `{"demo":{"frames":300,"interval_ms":25}}`)
	c.types("count")
	c.sees(t, "10: ")
	renew(time.Hour)
	c.notes(t, "connection lost")
	c.sees(t, "300: ")
	if got := c.stdout.String(); !strings.Contains(got, strings.TrimSpace(wire.DemoText(300, 0))) {
		t.Errorf("the text is not whole:\n%s", got)
	}
	if strings.Contains(c.stderr.String(), "eyJ") {
		t.Errorf("the token is shown:\n%s", c.stderr)
	}
}
