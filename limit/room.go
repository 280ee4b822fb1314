package limit

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
)

// Why something large that a client sends is not taken.
var (
	ErrRoom     = errors.New("too much is arriving at this node at once, send it again later")
	ErrUserRoom = errors.New("this user sends too much at once")
)

// Free is how many bytes of a message or body are not counted against a Room: small
// ones always have room, whatever others do.
const Free = 16 << 10

// Room bounds the bytes of messages and bodies that are arriving or being carried out.
// Beyond Free each of them needs a Place, and one user gets at most a quarter of it all.
// At most half as many as there are processors are decoded at once, since each keeps one
// busy for milliseconds. Safe for concurrent use; nil bounds nothing.
type Room struct {
	total, perUser int64
	working        chan struct{}

	mu    sync.Mutex
	taken int64
	users map[string]int64 // only those who have some
}

// shares is how many users can take everything together.
const shares = 4

// NewRoom returns a Room of so many bytes.
func NewRoom(total int64) *Room {
	return &Room{total: total, perUser: total / shares, working: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), users: map[string]int64{}}
}

// Taken is how many bytes are counted now.
func (r *Room) Taken() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// take counts more bytes of a user.
func (r *Room) take(user string, more int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	has, known := r.users[user]
	switch {
	case has+more > r.perUser:
		return ErrUserRoom
	case r.taken+more > r.total:
		return ErrRoom
	}
	if !known {
		user = strings.Clone(user) // the request it came in with is bigger
	}
	r.users[user] = has + more
	r.taken += more
	return nil
}

func (r *Room) give(user string, less int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= less
	if r.users[user] -= less; r.users[user] == 0 {
		delete(r.users, user)
	}
}

// Place is what one message or body of a user takes of a Room. It belongs to one goroutine.
type Place struct {
	room *Room
	user string
	size int64 // so far
	held int64 // counted in the room
}

// Place returns a place that takes nothing yet.
func (r *Room) Place(user string) *Place { return &Place{room: r, user: user} }

// Add counts n more bytes. It fails with ErrRoom or ErrUserRoom; then they are not counted.
func (p *Place) Add(n int) error {
	p.size += int64(n)
	more := p.size - Free - p.held
	if p.room == nil || more <= 0 {
		return nil
	}
	if err := p.room.take(p.user, more); err != nil {
		return err
	}
	p.held += more
	return nil
}

// Work waits until what was counted may be decoded, and is called before; what it returns
// is called after. It waits for no one but others who decode, and small ones never wait.
func (p *Place) Work() (done func()) {
	if p.held == 0 {
		return func() {}
	}
	p.room.working <- struct{}{}
	return func() { <-p.room.working }
}

// Leave gives everything back. The place can be used again.
func (p *Place) Leave() {
	if p.held > 0 {
		p.room.give(p.user, p.held)
	}
	p.size, p.held = 0, 0
}

// Body is a request's body that is counted while it is read. Reading fails with ErrRoom or
// ErrUserRoom when there is no room. Leave is called when the request was answered.
type Body struct {
	io.ReadCloser
	*Place
}

// Read implements io.Reader.
func (b Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if full := b.Add(n); full != nil {
		return n, full
	}
	return n, err
}
