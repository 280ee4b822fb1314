package limit

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// shards is how many mutexes the users are spread over.
const shards = 32

// Users counts what users take.
type Users struct {
	opts   Options
	every  time.Duration // one more command is allowed after so long
	ahead  time.Duration // a burst is this far ahead of its time
	origin time.Time     // where monotonic time counts from
	seed   maphash.Seed

	connections atomic.Int64
	shards      [shards]shard
}

// New returns limits with nobody connected.
func New(options Options) (*Users, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	every := time.Duration(float64(time.Second) / options.CommandsPerSecond)
	u := &Users{opts: options, every: every, ahead: time.Duration(options.Burst-1) * every, origin: time.Now(), seed: maphash.MakeSeed()}
	for i := range u.shards {
		u.shards[i].users = make(map[string]user)
	}
	return u, nil
}

// Connect counts one more connection of a user, until release is called
// (again is harmless). It fails with ErrConnections or ErrUserConnections.
func (u *Users) Connect(name string) (release func(), err error) {
	if u.connections.Add(1) > int64(u.opts.Connections) {
		u.connections.Add(-1)
		return nil, ErrConnections
	}
	s := u.shardOf(name)
	if !s.connect(u, name) {
		u.connections.Add(-1)
		return nil, ErrUserConnections
	}
	name = strings.Clone(name) // the request it came in with is bigger
	return sync.OnceFunc(func() {
		s.disconnect(u, name)
		u.connections.Add(-1)
	}), nil
}

// Allow takes one command from the user's allowance; false when there is none left.
func (u *Users) Allow(name string) bool { return u.shardOf(name).take(u, name, u.now()) }

// Connections returns how many connections are counted.
func (u *Users) Connections() int { return int(u.connections.Load()) }

// Known returns how many users are remembered.
func (u *Users) Known() (n int) {
	for i := range u.shards {
		s := &u.shards[i]
		s.mu.Lock()
		n += len(s.users)
		s.mu.Unlock()
	}
	return n
}

func (u *Users) shardOf(name string) *shard {
	return &u.shards[maphash.String(u.seed, name)%shards]
}

func (u *Users) now() time.Duration { return time.Since(u.origin) }
