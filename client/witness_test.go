package client_test

import (
	"fmt"
	"sync"

	"turnlog/client"
)

// witness sees what a client tells of its threads, and checks that numbered frames come once
// and in order, apart from jumps that were announced.
type witness struct {
	mu       sync.Mutex
	wrong    []string
	next     map[string]int64  // number that has to come, by thread
	texts    map[string]string // by turn
	outcomes map[string]string
	partial  map[string]bool // turns whose beginning is left to the history
	online   int             // connections
	frames   int             // numbered ones
	lost     []error
}

func newWitness() *witness {
	return &witness{next: map[string]int64{}, texts: map[string]string{}, outcomes: map[string]string{}, partial: map[string]bool{}}
}

func (w *witness) handler() client.Handler {
	return client.Handler{
		OnFrame: w.frame, OnReconcile: w.reconcile, OnState: w.state,
		OnFinish: func(f client.Finish) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.outcomes[f.TurnID] = f.Outcome
		},
	}
}

func (w *witness) frame(f client.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.Seq == 0 {
		return
	}
	if want, ok := w.next[f.ThreadID]; ok && f.Seq != want {
		w.wrong = append(w.wrong, fmt.Sprintf("%s: %d came, want %d", f.ThreadID, f.Seq, want))
	}
	w.next[f.ThreadID] = f.Seq + 1
	w.frames++
	var v struct{ Content any }
	if f.Type == "chunk" && f.Decode(&v) == nil {
		s, _ := v.Content.(string)
		w.texts[f.TurnID] += s
	}
}

func (w *witness) reconcile(r client.Reconcile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.next, r.ThreadID)
	if r.Header.TurnID != "" {
		w.partial[r.Header.TurnID] = true
	}
}

func (w *witness) state(s client.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch s.Phase {
	case client.Online:
		w.online++
	case client.Waiting:
		w.lost = append(w.lost, s.Err)
	}
}

func (w *witness) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.online
}

func (w *witness) progress() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frames
}

func (w *witness) losses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.lost)
}

func (w *witness) text(turn string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.texts[turn]
}

func (w *witness) outcome(turn string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[turn]
}
