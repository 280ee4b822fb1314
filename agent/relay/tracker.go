package relay

import "sync"

// tracker counts goroutines like a sync.WaitGroup, but may be waited for while
// new ones begin.
type tracker struct {
	mu   sync.Mutex
	n    int
	done *sync.Cond
}

func newTracker() *tracker {
	t := &tracker{}
	t.done = sync.NewCond(&t.mu)
	return t
}

// run runs f in a goroutine.
func (t *tracker) run(f func()) {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
	go func() {
		defer func() {
			t.mu.Lock()
			t.n--
			t.mu.Unlock()
			t.done.Broadcast()
		}()
		f()
	}()
}

// wait returns as soon as none is running.
func (t *tracker) wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.n > 0 {
		t.done.Wait()
	}
}
