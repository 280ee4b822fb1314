package identity

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	refreshEvery = 15 * time.Minute // of a set that can be fetched
	retryLeast   = 5 * time.Second  // after the first failure, doubled with each further one
	retryMost    = time.Minute
	learnEvery   = 10 * time.Second // between fetches that tokens cause
	fetchTimeout = 5 * time.Second
	mostHops     = 3 // redirects
)

// jwks is the JWK set of an identity provider, kept in memory.
type jwks struct {
	url    string
	client *http.Client
	opts   Options

	now atomic.Pointer[keys] // of the last good fetch; nil before

	mu       sync.Mutex
	inFlight *fetch
	begun    time.Time // when the last fetch was; zero before the first
	err      error     // how the last fetch ended
	failures int       // in a row
}

// fetch is one request that many may wait for.
type fetch struct {
	done chan struct{}
	err  error // valid once done is closed
}

var errNeverFetched = errors.New("the JWK set has not been fetched yet")

func newJWKS(o Options) *jwks {
	s := &jwks{url: o.JWKSURL, client: o.Client, opts: o, err: errNeverFetched}
	if s.client == nil {
		s.client = &http.Client{CheckRedirect: checkRedirect}
	}
	return s
}

// checkRedirect follows no redirect to where it would not have gone in the first place.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > mostHops {
		return errors.New("too many redirects")
	}
	return CheckJWKSURL(r.URL.String())
}

// current returns the keys in force.
func (s *jwks) current() keys {
	if k := s.now.Load(); k != nil {
		return *k
	}
	return nil
}

// learn fetches the set because a token names a key that it is not known to have, unless
// that was done a moment ago. It fails when the set as it is now is not known.
func (s *jwks) learn(ctx context.Context) error {
	// Detached and bounded: others wait for it when this caller is gone.
	return s.fetch(ctx, context.WithoutCancel(ctx), learnEvery)
}

// runOnce fetches the set and returns how long to wait before the next time.
func (s *jwks) runOnce(ctx context.Context) time.Duration {
	err := s.fetch(ctx, ctx, 0)
	s.mu.Lock()
	failures := s.failures
	s.mu.Unlock()
	wait := refreshEvery
	if err != nil {
		wait = min(retryLeast<<min(max(failures-1, 0), 8), retryMost)
	}
	return wait - rand.N(wait/10)
}

// fetch asks the endpoint, or waits for whoever is asking it. When the last time is less
// than apart ago it only returns how that ended.
func (s *jwks) fetch(wait, work context.Context, apart time.Duration) error {
	s.mu.Lock()
	if f := s.inFlight; f != nil {
		s.mu.Unlock()
		select {
		case <-f.done:
			return f.err
		case <-wait.Done():
			return wait.Err()
		}
	}
	if !s.begun.IsZero() && s.opts.Now().Sub(s.begun) < apart {
		defer s.mu.Unlock()
		return s.err
	}
	f := &fetch{done: make(chan struct{})}
	s.inFlight, s.begun = f, s.opts.Now()
	s.mu.Unlock()

	work, cancel := context.WithTimeout(work, fetchTimeout)
	defer cancel()
	set, err := get(work, s.client, s.url)
	s.settle(work, f, set, err)
	return err
}

// settle notes how a fetch ended. A failed one changes no keys.
func (s *jwks) settle(ctx context.Context, f *fetch, set keys, err error) {
	if err == nil {
		s.now.Store(&set)
	}
	s.mu.Lock()
	failedBefore := s.failures > 0
	if s.err, s.failures = err, s.failures+1; err == nil {
		s.failures = 0
	}
	s.inFlight, f.err = nil, err
	s.mu.Unlock()
	close(f.done)
	switch {
	case err == nil:
		s.opts.Metrics.Fetched("ok")
		if failedBefore {
			s.opts.Logger.Info("the JWK set can be fetched again", "keys", len(set))
		}
	case errors.Is(context.Cause(ctx), context.Canceled): // the node is shutting down
	default:
		s.opts.Metrics.Fetched("failed")
		s.opts.Logger.Warn("the JWK set cannot be fetched, the keys before stay in force", "keys", len(s.current()), "error", err)
	}
}
