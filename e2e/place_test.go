package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	proc "turnlog/internal/process"
)

// place is where a test runs: some nodes on one Redis.
type place struct {
	name  string
	nodes []*node
	redis *redisServer // nil with the embedded one
	also  []func()     // ends what else belongs to it
}

// url is a socket of node i (modulo their number) for a user.
func (p *place) url(i int, user string) string { return p.nodes[i%len(p.nodes)].url(user, "") }

// close ends everything that the place started.
func (p *place) close() (complaints string) {
	for _, n := range p.nodes {
		n.cont()
		n.kill()
		complaints += n.complaints()
	}
	if p.redis != nil {
		_ = p.redis.own.Close()
		p.redis.kill()
	}
	for _, end := range p.also {
		end()
	}
	return complaints
}

// redisServer is a real redis-server on a port of its own.
type redisServer struct {
	*process
	addr string
	dir  string
	own  *redis.Client // the tests' own connection
}

func startRedis(args ...string) (*redisServer, error) {
	dir, err := os.MkdirTemp(builtDir, "redis-")
	if err != nil {
		return nil, err
	}
	p, addr, err := proc.StartRedis(patience, dir, args...)
	if err != nil {
		return nil, err
	}
	own := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1, DialTimeout: patience, ReadTimeout: patience})
	return &redisServer{process: adopt(p), addr: addr, dir: dir, own: own}, nil
}

func (r *redisServer) url() string { return "redis://" + r.addr }

// info reads a number from INFO.
func (r *redisServer) info(t testing.TB, section, key string) int64 {
	t.Helper()
	text, err := r.own.Info(context.Background(), section).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key+":"); ok {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("INFO %s has no %s", section, key)
	return 0
}

// kinds of places.
const (
	embedded = "embedded"
	oneNode  = "one node"
	twoNodes = "two nodes"
	three    = "three nodes"
)

var sizes = map[string]int{embedded: 1, oneNode: 1, twoNodes: 2, three: 3}

func start(kind string, flags ...string) (*place, error) {
	p := &place{name: kind}
	if kind != embedded {
		r, err := startRedis()
		if err != nil {
			return nil, err
		}
		p.redis = r
		flags = append([]string{"--redis", r.url()}, flags...)
	}
	for range sizes[kind] {
		n, err := serve(flags...)
		if err != nil {
			p.close()
			return nil, err
		}
		p.nodes = append(p.nodes, n)
	}
	return p, nil
}

var shared struct {
	sync.Mutex
	places map[string]func() (*place, error)
}

// at gives a shared place of this kind whose nodes have these flags.
func at(t testing.TB, kind string, flags ...string) *place {
	t.Helper()
	key := kind + " " + strings.Join(flags, " ")
	shared.Lock()
	if shared.places == nil {
		shared.places = map[string]func() (*place, error){}
	}
	get := shared.places[key]
	if get == nil {
		get = sync.OnceValues(func() (*place, error) { return start(kind, flags...) })
		shared.places[key] = get
	}
	shared.Unlock()
	p, err := get()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// own starts a place for this test alone.
func own(t testing.TB, kind string, flags ...string) *place {
	t.Helper()
	p, err := start(kind, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if bad := p.close(); bad != "" && !t.Failed() {
			t.Errorf("nodes complained:\n%s", bad)
		}
		if t.Failed() {
			for _, n := range p.nodes {
				t.Logf("node %s:\n%s", n.addr, tail(n.stderr.String(), 4000))
			}
		}
	})
	return p
}

// closeShared ends the shared places.
func closeShared() (complaints string) {
	for _, get := range shared.places {
		if p, err := get(); err == nil {
			complaints += p.close()
		}
	}
	return complaints
}

// everywhere runs a test in every kind of place, with the same flags.
func everywhere(t *testing.T, test func(t *testing.T, p *place), flags ...string) {
	t.Helper()
	if !strings.Contains(t.Name(), "/") {
		t.Parallel()
	}
	for _, kind := range []string{embedded, oneNode, twoNodes, three} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, at(t, kind, flags...))
		})
	}
}

var users atomic.Int64

// someone is a user nobody else uses.
func someone() string { return "u" + strconv.FormatInt(users.Add(1), 10) }

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

// write puts a file into the test's directory.
func write(t testing.TB, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
