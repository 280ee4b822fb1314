package limit

import (
	"strings"
	"sync"
	"time"
)

// kind is what a user holds for a while.
type kind int

const (
	connection kind = iota
	call
	kinds
)

// most is how many of a kind one user may hold.
func (o Options) most(k kind) int {
	return [kinds]int{connection: o.ConnectionsPerUser, call: o.CallsPerUser}[k]
}

// user is what is known of one user. The allowance is kept as the time at which
// it is whole again, so that nothing has to be refilled.
type user struct {
	holds [kinds]int
	whole time.Duration // since the origin of Users
}

// loose reports whether the user holds nothing.
func (u user) loose() bool { return u.holds == [kinds]int{} }

// shard holds some of the users.
type shard struct {
	mu    sync.Mutex
	users map[string]user
	loose int           // users who hold nothing
	swept time.Duration // when the shard was last searched for users to forget
}

func (s *shard) take(u *Users, name string, k kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.users[name]
	if known.holds[k] >= u.opts.most(k) {
		return false
	}
	if !ok {
		name = strings.Clone(name)
	} else if known.loose() {
		s.loose--
	}
	known.holds[k]++
	s.users[name] = known
	return true
}

func (s *shard) give(u *Users, name string, k kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.users[name]
	if known.holds[k]--; !known.loose() {
		s.users[name] = known
		return
	}
	delete(s.users, name)
	if now := u.now(); known.whole > now {
		s.keepLocked(u, name, known, now)
	}
}

func (s *shard) spend(u *Users, name string, now time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.users[name]
	from := max(known.whole, now)
	if from-now > u.ahead {
		return false
	}
	known.whole = from + u.every
	if ok {
		s.users[name] = known
	} else {
		s.keepLocked(u, strings.Clone(name), known, now)
	}
	return true
}

// keepLocked remembers a user who holds nothing, and forgets another one
// when there is no room.
func (s *shard) keepLocked(u *Users, name string, known user, now time.Duration) {
	if s.loose >= u.opts.Users/shards {
		s.makeRoomLocked(u, now)
	}
	s.users[name] = known
	s.loose++
}

// glances is how many users are compared when one of them has to be forgotten.
const glances = 8

// makeRoomLocked forgets everybody whose allowance is whole. A search that
// cannot have news is not made: then the most rested of a few has to go.
func (s *shard) makeRoomLocked(u *Users, now time.Duration) {
	if now-s.swept >= u.ahead/2+u.every || s.swept == 0 {
		s.swept = now
		for name, known := range s.users {
			if known.loose() && known.whole <= now {
				delete(s.users, name)
				s.loose--
			}
		}
		if s.loose < u.opts.Users/shards {
			return
		}
	}
	rested, seen := "", 0
	var whole time.Duration
	for name, known := range s.users {
		if !known.loose() {
			continue
		}
		if seen == 0 || known.whole < whole {
			rested, whole = name, known.whole
		}
		if seen++; seen == glances {
			break
		}
	}
	delete(s.users, rested)
	s.loose--
}
