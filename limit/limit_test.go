package limit_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/limit"
)

func users(t testing.TB, o limit.Options) *limit.Users {
	t.Helper()
	u, err := limit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestConnectionsAreBoundedPerUserAndInTotal(t *testing.T) {
	u := users(t, limit.Options{Connections: 3, ConnectionsPerUser: 2})
	connect := func(name string, want error) func() {
		t.Helper()
		release, err := u.Connect(name)
		if !errors.Is(err, want) || (err == nil) != (release != nil) {
			t.Fatalf("connect %s: %v, want %v", name, err, want)
		}
		return release
	}
	first := connect("ann", nil)
	connect("ann", nil)
	connect("ann", limit.ErrUserConnections)
	last := connect("bob", nil)
	connect("cid", limit.ErrConnections)
	first()
	first() // again is harmless
	connect("cid", nil)
	connect("ann", limit.ErrConnections)
	last()
	connect("ann", nil)
	if n := u.Connections(); n != 3 {
		t.Fatalf("%d connections counted, want 3", n)
	}
}

func TestCommandsOfAUserAreBoundedAndComeBackWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := users(t, limit.Options{CommandsPerSecond: 10, Burst: 5})
		spend := func(name string) (n int) {
			for u.Allow(name) {
				n++
			}
			return n
		}
		if n := spend("ann"); n != 5 {
			t.Fatalf("burst of %d, want 5", n)
		}
		if n := spend("bob"); n != 5 {
			t.Fatalf("another user gets %d, want 5", n)
		}
		<-time.After(300 * time.Millisecond)
		if n := spend("ann"); n != 3 {
			t.Fatalf("%d after 300 ms, want 3", n)
		}
		<-time.After(time.Hour)
		if n := spend("ann"); n != 5 {
			t.Fatalf("%d after an hour, want 5", n)
		}
	})
}

func TestCallsUnderWayAreBoundedPerUser(t *testing.T) {
	u := users(t, limit.Options{CallsPerUser: 2, ConnectionsPerUser: 1, CommandsPerSecond: 0.001, Burst: 1, Users: 32})
	begin := func(name string, want bool) func() {
		t.Helper()
		end, ok := u.Begin(name)
		if ok != want || ok != (end != nil) {
			t.Fatalf("a call of %s: %v, want %v", name, ok, want)
		}
		return end
	}
	first := begin("ann", true)
	second := begin("ann", true)
	begin("ann", false)
	begin("bob", true)
	if _, err := u.Connect("ann"); err != nil { // connections are counted apart
		t.Fatal(err)
	}
	first()
	first() // again is harmless
	begin("ann", true)
	begin("ann", false)
	for i := range 10_000 { // nobody with a call is forgotten for others
		u.Allow(fmt.Sprint("user", i))
	}
	begin("ann", false)
	second()
	begin("ann", true)
}

func TestDisconnectingDoesNotRenewTheAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := users(t, limit.Options{CommandsPerSecond: 1, Burst: 2})
		for range 3 {
			release, err := u.Connect("ann")
			if err != nil {
				t.Fatal(err)
			}
			u.Allow("ann")
			release()
		}
		if u.Allow("ann") {
			t.Fatal("a new connection got a new allowance")
		}
	})
}

func TestAUserAtRestIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := users(t, limit.Options{Users: 64, CommandsPerSecond: 100})
		for round := range 50 {
			for i := range 64 {
				u.Allow(fmt.Sprint("user", round, "-", i))
			}
			<-time.After(time.Minute)
		}
		if n := u.Known(); n > 64 {
			t.Fatalf("%d users known, want at most 64", n)
		}
		release, err := u.Connect("ann")
		if err != nil {
			t.Fatal(err)
		}
		before := u.Known()
		release()
		if n := u.Known(); n != before-1 {
			t.Fatalf("%d users known after ann left, %d before", n, before)
		}
	})
}

func TestMemoryIsBoundedUnderAMillionUsers(t *testing.T) {
	const kept = 1 << 14
	u := users(t, limit.Options{Users: kept, CommandsPerSecond: 0.001, Burst: 2, Connections: 100}) // nobody recovers
	var connected []func()
	for i := range 100 {
		release, err := u.Connect(fmt.Sprint("connected-", i))
		if err != nil {
			t.Fatal(err)
		}
		connected = append(connected, release)
	}
	name := strings.Repeat("x", 200)
	before := heap()
	for i := range 1_000_000 {
		if !u.Allow(fmt.Sprint(name, i)) {
			t.Fatal("a user who was never seen is refused")
		}
	}
	if n := u.Known(); n > kept+100 {
		t.Fatalf("%d users known, want at most %d", n, kept+100)
	}
	if grown := heap() - before; grown > kept*600 {
		t.Fatalf("%d bytes for %d users", grown, kept)
	}
	u.Allow("connected-7")
	u.Allow("connected-7")
	if u.Allow("connected-7") {
		t.Fatal("a connected user was forgotten")
	}
	for _, release := range connected {
		release()
	}
	if u.Connections() != 0 || u.Known() > kept {
		t.Fatalf("%d connections, %d users in the end", u.Connections(), u.Known())
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestManyGoroutinesGetNoMoreThanTheLimit(t *testing.T) {
	u := users(t, limit.Options{Connections: 50, ConnectionsPerUser: 20, CommandsPerSecond: 0.001, Burst: 100})
	var open, most, allowed atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for n := range 500 {
				if u.Allow("ann") {
					allowed.Add(1)
				}
				release, err := u.Connect(fmt.Sprint(n % 4))
				if err != nil {
					continue
				}
				now := open.Add(1)
				for top := most.Load(); now > top && !most.CompareAndSwap(top, now); top = most.Load() {
				}
				runtime.Gosched()
				open.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if most.Load() > 50 || allowed.Load() != 100 || u.Connections() != 0 {
		t.Fatalf("%d at once, %d allowed, %d left", most.Load(), allowed.Load(), u.Connections())
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	for name, o := range map[string]limit.Options{
		"negative connections": {Connections: -1},
		"negative per user":    {ConnectionsPerUser: -1},
		"negative calls":       {CallsPerUser: -1},
		"negative rate":        {CommandsPerSecond: -1},
		"negative burst":       {Burst: -1},
		"few users":            {Users: 1},
	} {
		if _, err := limit.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkAllow(b *testing.B) {
	u := users(b, limit.Options{CommandsPerSecond: 1e9, Burst: 1 << 30})
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			u.Allow("ann")
		}
	})
}
