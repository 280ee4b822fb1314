package js_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"turnlog/identity"
	"turnlog/internal/netproxy"
	"turnlog/internal/process"
)

// patience is how long anything may take that should be quick.
const patience = 60 * time.Second

const secret = "the secret of the tests, more than 32 bytes"

// world is what the JavaScript tests run against: nodes behind proxies that
// misbehave when a test asks for it over HTTP, each test with a proxy of its own.
type world struct {
	t       *testing.T
	program string
	redis   string   // url; "" = the embedded one
	nodes   []string // host:port
	guarded string   // host:port of a node that asks for tokens

	mu      sync.Mutex
	proxies map[string]*netproxy.Proxy
	mortals map[string]*process.Process
}

func newWorld(t *testing.T, program string, realRedis bool) *world {
	w := &world{t: t, program: program, proxies: map[string]*netproxy.Proxy{}, mortals: map[string]*process.Process{}}
	nodes := 1
	if realRedis {
		p, addr, err := process.StartRedis(patience, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		w.redis, nodes = "redis://"+addr, 2
	}
	for range nodes {
		w.nodes = append(w.nodes, w.serve(w.shared()...).addr)
	}
	config := filepath.Join(t.TempDir(), "turnlog.yaml")
	if err := os.WriteFile(config, []byte("auth.secret: "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.guarded = w.serve("--auth.mode", "jwt", "--config", config).addr
	return w
}

// shared are the arguments of nodes on the world's Redis.
func (w *world) shared() []string {
	if w.redis == "" {
		return nil
	}
	return []string{"--redis", w.redis, "--node.lease", "8s", "--node.heartbeat", "1s"}
}

type node struct {
	*process.Process
	addr string
}

func (w *world) serve(args ...string) node {
	w.t.Helper()
	p, err := process.Start(nil, w.program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Kill)
	addr, _, err := p.Listening(patience)
	if err != nil {
		w.t.Fatal(err)
	}
	return node{p, addr}
}

// control serves the tests' wishes.
func (w *world) control() string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /proxy", w.newProxy)
	mux.HandleFunc("POST /proxy/{id}/{what}", w.misbehave)
	mux.HandleFunc("POST /mortal", w.newMortal)
	mux.HandleFunc("POST /mortal/{id}/kill", w.kill)
	mux.HandleFunc("GET /token", w.token)
	s := httptest.NewServer(mux)
	w.t.Cleanup(func() {
		s.Close()
		for _, p := range w.proxies {
			p.Close()
		}
	})
	return s.URL
}

// newProxy answers {id, host} of a new proxy in front of node ?node=N, or of ?node=guarded.
func (w *world) newProxy(rw http.ResponseWriter, r *http.Request) {
	target := w.guarded
	if name := r.URL.Query().Get("node"); name != "guarded" {
		i, _ := strconv.Atoi(name)
		target = w.nodes[i%len(w.nodes)]
	}
	p, err := netproxy.Start(target, netproxy.Options{})
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	w.mu.Lock()
	id := strconv.Itoa(len(w.proxies))
	w.proxies[id] = p
	w.mu.Unlock()
	answer(rw, map[string]any{"id": id, "host": p.Addr(), "target": target})
}

func (w *world) misbehave(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	p := w.proxies[r.PathValue("id")]
	w.mu.Unlock()
	switch what := r.PathValue("what"); what {
	case "cut":
		p.Cut()
	case "refuse":
		p.Refuse()
	case "blackhole":
		p.BlackHole()
	case "halfopen":
		p.HalfOpen()
	case "resume":
		p.Resume()
	case "cutafter": // each connection after ?bytes=N to the client
		n, _ := strconv.ParseInt(r.URL.Query().Get("bytes"), 10, 64)
		p.CutAfter(func(int) int64 { return n })
	case "block": // WebSockets are cut in their handshake, HTTP passes
		p.SetFilter(blockSockets)
	case "unblock":
		p.SetFilter(nil)
	default:
		http.Error(rw, "no such fault: "+what, http.StatusNotFound)
		return
	}
	answer(rw, map[string]any{"accepted": p.Accepted(), "open": p.Open()})
}

// newMortal starts a node on the world's Redis that may be killed.
func (w *world) newMortal(rw http.ResponseWriter, _ *http.Request) {
	n := w.serve(w.shared()...)
	w.mu.Lock()
	id := strconv.Itoa(len(w.mortals))
	w.mortals[id] = n.Process
	w.mu.Unlock()
	answer(rw, map[string]any{"id": id, "host": n.addr})
}

func (w *world) kill(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	p := w.mortals[r.PathValue("id")]
	w.mu.Unlock()
	p.Kill()
	answer(rw, map[string]any{})
}

// token mints one for ?user= that is believed for ?ms=, the leeway of 30 s included.
func (w *world) token(rw http.ResponseWriter, r *http.Request) {
	ms, _ := strconv.Atoi(r.URL.Query().Get("ms"))
	now := time.Now()
	expires := now.Add(time.Duration(ms)*time.Millisecond - 30*time.Second)
	token, err := identity.Mint([]byte(secret), identity.Grant{User: r.URL.Query().Get("user"), Issued: now.Add(-time.Hour), Expires: expires})
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(rw, token)
}

func answer(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v)
}
