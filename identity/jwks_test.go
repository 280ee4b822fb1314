package identity_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"turnlog/identity"
)

// provider is the JWKS endpoint of an identity provider.
type provider struct {
	asked  atomic.Int64
	mu     sync.Mutex
	answer http.HandlerFunc
}

func newProvider(t testing.TB, keys ...object) (*provider, string) {
	t.Helper()
	p := &provider{}
	p.publish(keys...)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, server.URL
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	p.mu.Lock()
	answer := p.answer
	p.mu.Unlock()
	answer(w, r)
}

func (p *provider) does(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *provider) says(text string) {
	p.does(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
}

func (p *provider) publish(keys ...object) { p.says(setOf(keys...)) }

func setOf(keys ...object) string {
	if keys == nil {
		keys = []object{}
	}
	b, _ := json.Marshal(object{"keys": keys})
	return string(b)
}

// clock is a clock that is moved by hand.
type clock struct {
	ahead atomic.Int64
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// withKid signs a token of one hour and names the key.
func withKid(t testing.TB, kid string, key *ecdsa.PrivateKey) string {
	t.Helper()
	header := object{}
	if kid != "" {
		header["kid"] = kid
	}
	return sign(t, jwt.SigningMethodES256, key, good(nil), header)
}

func newEC(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestB101_KeysOfASetVerifyTheirOwnAlgorithmOnly(t *testing.T) {
	p := pairs()
	one, two := newEC(t), newEC(t)
	_, url := newProvider(t,
		jwk("rsa", &p.rsa.PublicKey, object{"alg": "RS256"}), jwk("ec", &one.PublicKey, nil), jwk("ed", p.ed.Public(), nil),
		jwk("enc", &p.rsa2.PublicKey, object{"use": "enc"}), jwk("ps", &p.rsa2.PublicKey, object{"alg": "PS256"}), jwk("p384", &p.ec384.PublicKey, nil),
		jwk("ops", &two.PublicKey, object{"key_ops": []string{"encrypt"}}), jwk("x5u", &two.PublicKey, object{"x5u": "http://127.0.0.1:1/", "x5c": []string{"?"}}),
		object{"kty": "oct", "kid": "oct", "k": b64([]byte(secret))}, object{"kty": "new", "kid": "new"}, object{"kid": 7},
	)
	j := newJWT(t, identity.Options{JWKSURL: url})
	es := func(kid string) string { return withKid(t, kid, one) }
	for name, row := range map[string]struct {
		token string
		good  bool
	}{
		"RS256":                {sign(t, jwt.SigningMethodRS256, p.rsa, good(nil), object{"kid": "rsa"}), true},
		"ES256":                {es("ec"), true},
		"EdDSA":                {sign(t, jwt.SigningMethodEdDSA, p.ed, good(nil), object{"kid": "ed"}), true},
		"without kid":          {es(""), true},
		"x5u is not followed":  {withKid(t, "x5u", two), true},
		"kid of another":       {es("rsa"), false},
		"unknown kid":          {es("nobody"), false},
		"kid like a path":      {es("../../etc/passwd"), false},
		"for encryption":       {sign(t, jwt.SigningMethodRS256, p.rsa2, good(nil), object{"kid": "enc"}), false},
		"another algorithm":    {sign(t, jwt.SigningMethodRS256, p.rsa2, good(nil), object{"kid": "ps"}), false},
		"not for verifying":    {withKid(t, "ops", two), false},
		"P-384":                {sign(t, jwt.SigningMethodES384, p.ec384, good(nil), object{"kid": "p384"}), false},
		"a published secret":   {sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), object{"kid": "oct"}), false},
		"HS256 with RSA's PEM": {sign(t, jwt.SigningMethodHS256, pemOf(t, &p.rsa.PublicKey), good(nil), object{"kid": "rsa"}), false},
	} {
		who, err := j.Verify(t.Context(), row.token)
		if (err == nil) != row.good || (err != nil && !errors.Is(err, identity.ErrUnauthorized)) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
}

func TestB101_ARotatedKeyIsLearntFromTheFirstToken(t *testing.T) {
	old, new := newEC(t), newEC(t)
	p, url := newProvider(t, jwk("old", &old.PublicKey, nil))
	var c clock
	j := newJWT(t, identity.Options{JWKSURL: url, Now: c.now})
	if _, err := j.Verify(t.Context(), withKid(t, "old", old)); err != nil {
		t.Fatal(err)
	}
	p.publish(jwk("new", &new.PublicKey, nil))
	if _, err := j.Verify(t.Context(), withKid(t, "new", new)); !errors.Is(err, identity.ErrUnauthorized) || p.asked.Load() != 1 {
		t.Errorf("within ten seconds: %v after %d fetches", err, p.asked.Load())
	}
	c.advance(11 * time.Second)
	if _, err := j.Verify(t.Context(), withKid(t, "new", new)); err != nil || p.asked.Load() != 2 {
		t.Errorf("later: %v after %d fetches", err, p.asked.Load())
	}
	if _, err := j.Verify(t.Context(), withKid(t, "old", old)); !errors.Is(err, identity.ErrUnauthorized) {
		t.Errorf("the key that was taken out: %v", err)
	}
	p.publish(jwk("", &old.PublicKey, nil))
	c.advance(11 * time.Second)
	if _, err := j.Verify(t.Context(), withKid(t, "", old)); err != nil {
		t.Errorf("rotated without names: %v", err)
	}
}

func TestB101_AFloodOfUnknownKeysIsOneFetchInTenSeconds(t *testing.T) {
	k := newEC(t)
	p, url := newProvider(t, jwk("k", &k.PublicKey, nil))
	var c clock
	j := newJWT(t, identity.Options{JWKSURL: url, Now: c.now})
	fine := withKid(t, "k", k)
	for round := range 3 {
		var flood sync.WaitGroup
		for i := range 200 {
			flood.Go(func() {
				bad := withKid(t, fmt.Sprintf("unknown %d", i), k)
				if _, err := j.Verify(t.Context(), bad); !errors.Is(err, identity.ErrUnauthorized) {
					t.Errorf("%v", err)
				}
				if _, err := j.Verify(t.Context(), fine); err != nil {
					t.Errorf("a good token in the flood: %v", err)
				}
			})
		}
		flood.Wait()
		if got := p.asked.Load(); got != int64(round+1) {
			t.Fatalf("%d fetches after round %d", got, round)
		}
		c.advance(11 * time.Second)
	}
}

func TestB101_LastGoodKeysStayWhenTheEndpointFails(t *testing.T) {
	k, other := newEC(t), newEC(t)
	keys := make([]object, 65)
	for i := range keys {
		keys[i] = jwk(fmt.Sprint(i), &k.PublicKey, nil)
	}
	for name, failure := range map[string]http.HandlerFunc{
		"down":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"hangs up":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"garbage":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"empty":         func(http.ResponseWriter, *http.Request) {},
		"no keys":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
		"empty set":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, setOf()) },
		"useless keys":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, setOf(object{"kty": "oct", "k": "eA"})) },
		"too many keys": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, setOf(keys...)) },
		"a set that never ends": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, setOf(jwk("new", &other.PublicKey, nil)), strings.Repeat(" ", 256<<10))
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
					return
				}
			}
		},
		"redirect elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://issuer.example/keys", http.StatusFound)
		},
		"redirect in a ring": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) },
	} {
		t.Run(name, func(t *testing.T) {
			p, url := newProvider(t, jwk("k", &k.PublicKey, nil))
			var c clock
			var log noted
			met := &counts{}
			j := newJWT(t, identity.Options{JWKSURL: strings.Replace(url, "http://", "http://user:hunter2@", 1) + "/?key=hunter2", Now: c.now, Metrics: met, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if _, err := j.Verify(t.Context(), withKid(t, "k", k)); err != nil {
				t.Fatal(err)
			}
			p.does(failure)
			c.advance(11 * time.Second)
			for range 3 {
				if _, err := j.Verify(t.Context(), withKid(t, "new", other)); !errors.Is(err, identity.ErrUnavailable) || met.last() != "keys_unavailable" {
					t.Errorf("unknown key: %v, %s", err, met.last())
				}
				if _, err := j.Verify(t.Context(), withKid(t, "k", k)); err != nil {
					t.Errorf("known key: %v", err)
				}
			}
			if fmt.Sprint(met.fetched) != "[ok failed]" || !strings.Contains(log.String(), "JWK set") || strings.Contains(log.String(), "hunter2") {
				t.Errorf("%v, log:\n%s", met.fetched, &log)
			}
			if name == "redirect elsewhere" && !strings.Contains(log.String(), "must be https") {
				t.Errorf("it went there:\n%s", &log)
			}
			p.publish(jwk("new", &other.PublicKey, nil))
			c.advance(11 * time.Second)
			if _, err := j.Verify(t.Context(), withKid(t, "new", other)); err != nil {
				t.Errorf("after the failure: %v", err)
			}
		})
	}
}

func TestB101_WithoutAnyKeysNobodyIsLetInOrTurnedAway(t *testing.T) {
	k := newEC(t)
	p, url := newProvider(t)
	var c clock
	j := newJWT(t, identity.Options{JWKSURL: url, Now: c.now, Secret: []byte(secret)})
	for range 50 {
		if _, err := j.Verify(t.Context(), withKid(t, "k", k)); !errors.Is(err, identity.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if p.asked.Load() != 1 {
		t.Errorf("%d fetches", p.asked.Load())
	}
	if _, err := j.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, []byte(secret), good(nil), nil)); err != nil {
		t.Errorf("the secret needs no set: %v", err)
	}
	if _, err := j.Verify(t.Context(), "garbage"); !errors.Is(err, identity.ErrUnauthorized) {
		t.Errorf("garbage: %v", err)
	}
}

func TestB101_WhoeverWaitsForKeysCanLeave(t *testing.T) {
	k := newEC(t)
	p, url := newProvider(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	p.does(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		fmt.Fprint(w, setOf(jwk("k", &k.PublicKey, nil)))
	})
	j := newJWT(t, identity.Options{JWKSURL: url})
	first := make(chan error, 1)
	token := withKid(t, "k", k)
	go func() {
		_, err := j.Verify(context.Background(), token)
		first <- err
	}()
	<-arrived
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := j.Verify(ctx, token); !errors.Is(err, identity.ErrUnavailable) {
		t.Errorf("the one who left: %v", err)
	}
	close(release)
	if err := <-first; err != nil || p.asked.Load() != 1 {
		t.Errorf("the one who stayed: %v after %d fetches", err, p.asked.Load())
	}
}

// endpoint answers requests without a network, for tests in a bubble.
type endpoint func(*http.Request) (*http.Response, error)

func (e endpoint) RoundTrip(r *http.Request) (*http.Response, error) { return e(r) }

func TestB101_RunFetchesAtStartInTimeAndSoonerAfterFailures(t *testing.T) {
	k := newEC(t)
	set := setOf(jwk("k", &k.PublicKey, nil))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		var answers atomic.Bool
		fetched := func() []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(at)
		}
		client := &http.Client{Transport: endpoint(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			at = append(at, time.Since(began))
			mu.Unlock()
			if !answers.Load() {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			w := httptest.NewRecorder()
			fmt.Fprint(w, set)
			return w.Result(), nil
		})}
		j := newJWT(t, identity.Options{JWKSURL: "https://issuer.example/keys", Client: client})
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- j.Run(ctx) }()
		<-time.After(4 * time.Second)
		synctest.Wait()
		if at := fetched(); len(at) != 1 || at[0] != 0 {
			t.Fatalf("fetched at %v", at)
		}
		<-time.After(3 * time.Minute)
		synctest.Wait()
		if at := fetched(); len(at) < 5 || len(at) > 9 {
			t.Errorf("tries of an endpoint that hangs: %v", at)
		}
		answers.Store(true)
		<-time.After(70 * time.Second)
		synctest.Wait()
		if _, err := j.Verify(ctx, withKid(t, "k", k)); err != nil {
			t.Errorf("fetched by Run: %v", err)
		}
		before := len(fetched())
		<-time.After(time.Hour)
		synctest.Wait()
		if n := len(fetched()) - before; n < 4 || n > 5 {
			t.Errorf("%d fetches in an hour", n)
		}
		stop()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestKeyFilesAreReadAgainWhenTheyChange(t *testing.T) {
	old, new := newEC(t), newEC(t)
	path := keyFile(t, &old.PublicKey)
	synctest.Test(t, func(t *testing.T) {
		var log noted
		j := newJWT(t, identity.Options{KeyFiles: []string{path}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- j.Run(ctx) }()
		believes := func(k *ecdsa.PrivateKey) bool {
			<-time.After(31 * time.Second)
			synctest.Wait()
			_, err := j.Verify(ctx, withKid(t, "", k))
			return err == nil
		}
		writeKeys(t, path, &old.PublicKey, &new.PublicKey)
		if !believes(old) || !believes(new) {
			t.Error("both keys are there")
		}
		writeKeys(t, path, &new.PublicKey)
		if believes(old) || !believes(new) {
			t.Error("the old key is gone")
		}
		writeKeys(t, path)
		for range 2 {
			if !believes(new) {
				t.Error("an empty file changed the keys")
			}
		}
		if strings.Count(log.String(), "level=WARN") != 1 {
			t.Errorf("an empty file changes nothing and is told once:\n%s", &log)
		}
		stop()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
