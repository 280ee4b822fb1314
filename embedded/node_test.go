package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient works until it is told to stop.
type patient struct{ begun chan struct{} }

func (p patient) Run(ctx context.Context, _ agent.Turn) error {
	close(p.begun)
	<-ctx.Done()
	return context.Cause(ctx)
}

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type rig struct {
	*embedded.Node
	begun chan struct{}
	stop  context.CancelFunc
	done  chan error
}

// run makes a node on a Redis of its own and waits until it is ready.
func run(t *testing.T, options embedded.Options) *rig {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { rdb.Close() })
	r := &rig{begun: make(chan struct{}), done: make(chan error, 1)}
	var err error
	if r.Node, err = embedded.New(t.Context(), rdb, map[string]agent.Agent{"patient": patient{r.begun}}, options); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		r.Hurry()
		if err := <-r.done; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	})
	<-r.Ready()
	return r
}

func (r *rig) ended(t *testing.T, patience time.Duration) {
	t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
	case <-time.After(patience):
		t.Fatal("the node goes on")
	}
}

// begin has a turn run.
func (r *rig) begin(t *testing.T) {
	t.Helper()
	thread := eventlog.Thread{User: "ann", ID: "t"}
	if _, err := r.Sessions().Submit(t.Context(), session.Submit{Thread: thread, Data: []byte(`{"content":"go"}`), Policy: eventlog.PolicyPreserve}); err != nil {
		t.Fatal(err)
	}
	<-r.begun
}

// await polls until cond holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(30 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("never: %s", what)
		}
	}
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestB87_HurryEndsTheWaitForRunningTurns(t *testing.T) {
	r := run(t, embedded.Options{Drain: embedded.Drain{Timeout: time.Hour}})
	r.begin(t)
	r.stop()
	await(t, "a draining node is not ready", func() bool { return get(r.Handler(), "/readyz").Code == http.StatusServiceUnavailable })
	select {
	case err := <-r.done:
		t.Fatalf("it did not wait for its turn: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	r.Hurry()
	r.Hurry() // again changes nothing
	r.ended(t, 30*time.Second)
}

func TestB87_ANegativeDrainTimeoutDoesNotWait(t *testing.T) {
	r := run(t, embedded.Options{Drain: embedded.Drain{Timeout: -1}})
	r.begin(t)
	r.stop()
	r.ended(t, 30*time.Second)
}

func TestHandlerHasMetricsAndWhatGoesAroundIt(t *testing.T) {
	var order []string
	around := func(name string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				order = append(order, name)
				next.ServeHTTP(w, r)
			})
		}
	}
	r := run(t, embedded.Options{HTTP: embedded.HTTP{
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("some_metric 1\n")) }),
		Around:  []func(http.Handler) http.Handler{around("outer"), around("inner")},
	}})
	if got := get(r.Handler(), "/metrics"); got.Code != http.StatusOK || got.Body.String() != "some_metric 1\n" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if strings.Join(order, " ") != "outer inner" {
		t.Errorf("%v", order)
	}
}

func TestTheNodeIsListedWithItsAddress(t *testing.T) {
	r := run(t, embedded.Options{Entry: embedded.Entry{Address: "10.0.0.7:8080", Version: "1.2.3"}})
	await(t, "its entry", func() bool {
		nodes, err := r.Log().NodeReports(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].Info.Address == "10.0.0.7:8080" && nodes[0].Info.Version == "1.2.3"
	})
	r.begin(t)
	r.stop()
	await(t, "that it drains", func() bool {
		nodes, err := r.Log().NodeReports(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].Info.Load != nil && nodes[0].Info.Load.Draining
	})
}

func isOpen(err error) bool {
	var open *embedded.OpenError
	return errors.As(err, &open)
}

func TestANodeThatCannotUseRedisSaysSo(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer rdb.Close()
	agents := map[string]agent.Agent{"patient": patient{}}
	n, err := embedded.New(t.Context(), rdb, agents, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil { // never run
		t.Fatal(err)
	}
	_, err = embedded.New(t.Context(), rdb, agents, embedded.Options{Log: eventlog.Options{Partitions: 7}})
	if !isOpen(err) {
		t.Fatalf("another number of partitions: %v", err)
	}
	if _, err = embedded.New(t.Context(), rdb, agents, embedded.Options{Session: session.Options{DefaultAgent: "nobody"}}); err == nil || isOpen(err) {
		t.Fatalf("an agent that is not there: %v", err)
	}
}

func TestPartsLogWithTheNodesLogger(t *testing.T) {
	var log lines
	r := run(t, embedded.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	await(t, "a line of the reaper", func() bool { return strings.Contains(log.String(), "reaper leads") })
	r.stop()
	r.ended(t, 30*time.Second)
}
