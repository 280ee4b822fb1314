package wsapi

import (
	"maps"
	"sync"

	"turnlog/eventlog"
)

// threads are what a connection follows, by thread id. The reader changes it;
// others look.
type threads struct {
	mu   sync.Mutex
	byID map[string]*following

	submitted map[string]string // thread id -> turn this connection submitted last
}

func (t *threads) get(id string) *following {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

func (t *threads) put(f *following) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = make(map[string]*following)
	}
	t.byID[f.thread.ID] = f
}

func (t *threads) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

func (t *threads) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

func (t *threads) all() []*following {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*following, 0, len(t.byID))
	for _, f := range t.byID {
		list = append(list, f)
	}
	return list
}

func (t *threads) takeAll() []*following {
	list := t.all()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID = nil
	return list
}

// submittedTurn notes a turn of this connection, for stops without a thread.
// Bounded: with very many threads an arbitrary one is forgotten.
func (t *threads) submittedTurn(threadID, turnID string) {
	const most = 1024
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.submitted == nil {
		t.submitted = make(map[string]string)
	}
	if _, known := t.submitted[threadID]; !known && len(t.submitted) >= most {
		for id := range t.submitted {
			delete(t.submitted, id)
			break
		}
	}
	t.submitted[threadID] = turnID
}

// submittedTurns returns the turns of this connection that may still run.
func (t *threads) submittedTurns() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.submitted)
}

// finishedTurn forgets a turn that has ended.
func (t *threads) finishedTurn(threadID, turnID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.submitted[threadID] == turnID {
		delete(t.submitted, threadID)
	}
}

// thread names one of this connection's user's threads.
func (c *conn) thread(id string) eventlog.Thread {
	return c.who.Thread(id)
}
