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
	give, ok := u.hold(name, connection)
	if !ok {
		u.connections.Add(-1)
		return nil, ErrUserConnections
	}
	return sync.OnceFunc(func() {
		give()
		u.connections.Add(-1)
	}), nil
}

// Begin counts a call of a user as under way until end is called (again is harmless);
// false when there are too many.
func (u *Users) Begin(name string) (end func(), ok bool) {
	give, ok := u.hold(name, call)
	if !ok {
		return nil, false
	}
	return sync.OnceFunc(give), true
}

func (u *Users) hold(name string, k kind) (give func(), ok bool) {
	s := u.shardOf(name)
	if !s.take(u, name, k) {
		return nil, false
	}
	name = strings.Clone(name) // the request it came in with is bigger
	return func() { s.give(u, name, k) }, true
}

// Allow takes one command from the user's allowance; false when there is none left.
func (u *Users) Allow(name string) bool { return u.shardOf(name).spend(u, name, u.now()) }

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
