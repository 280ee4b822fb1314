package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"turnlog/agent"
	"turnlog/eventlog"
)

// Service runs the turns of one node. All methods are safe for concurrent use.
type Service struct {
	env
	agents map[string]agent.Agent
	ready  chan struct{} // closed when the node has its lease
	wakes  wakes
	missed atomic.Bool // a poll failed: inputs may have been taken from the inbox unread

	mu       sync.Mutex
	node     string
	life     context.Context // of the turns; nil before Run and after it
	draining bool
	turns    map[attemptKey]*turn
	threads  map[eventlog.Thread]*turn // the newest turn of each thread
	changed  chan struct{}             // closed at the next end of a turn
	running  sync.WaitGroup
}

// attemptKey names one attempt.
type attemptKey struct {
	turnID  string
	attempt int
}

// New returns a Service that is idle until Run. agents are by name; feed gets
// this node's frames.
func New(log Log, feed Feed, agents map[string]agent.Agent, opts Options) (*Service, error) {
	if log == nil || feed == nil {
		return nil, errors.New("session: a log and a feed are required")
	}
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if len(agents) == 0 {
		return nil, errors.New("session: at least one agent is required")
	}
	if opts.DefaultAgent == "" && len(agents) == 1 {
		for name := range agents {
			opts.DefaultAgent = name
		}
	}
	if agents[opts.DefaultAgent] == nil {
		return nil, fmt.Errorf("session: DefaultAgent %q is none of the agents %v", opts.DefaultAgent, slices.Sorted(maps.Keys(agents)))
	}
	return &Service{
		env:    env{log: log, feed: feed, opts: opts},
		agents: maps.Clone(agents),
		ready:  make(chan struct{}),
		wakes:  newWakes(),
		node:   newNodeID(),
		turns:  make(map[attemptKey]*turn), threads: make(map[eventlog.Thread]*turn),
		changed: make(chan struct{}),
	}, nil
}

// Node returns the node's present id. It changes when the node was declared dead.
func (s *Service) Node() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// Ready is closed once the node has its lease; before that Submit is refused.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Draining says whether new turns are refused.
func (s *Service) Draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// RunningHere returns how many turns this node runs.
func (s *Service) RunningHere() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.turns)
}

// agentFor returns the agent of a submission, nil when it is not known here.
func (s *Service) agentFor(name string) agent.Agent {
	if name == "" {
		name = s.opts.DefaultAgent
	}
	return s.agents[name]
}

// attempts returns how many attempts a turn of the agent may have.
func (s *Service) attempts(ag agent.Agent) int {
	if r, ok := ag.(agent.Restartable); ok && r.Restartable() {
		return s.opts.Attempts
	}
	return 1
}

// start runs an admitted turn, unless it runs already or is not this node's.
func (s *Service) start(thread eventlog.Thread, node string, adm eventlog.Admission) {
	ag := s.agentFor(adm.Submission.Agent)
	if ag == nil {
		ag = unknownAgent(adm.Submission.Agent)
	}
	key := attemptKey{adm.TurnID, adm.Attempt}
	s.mu.Lock()
	if s.life == nil || s.node != node || s.turns[key] != nil {
		s.mu.Unlock()
		return // the reaper, or the reconciling of the new id, ends what is not run
	}
	life := s.life
	fence := eventlog.Fence{Thread: thread, TurnID: adm.TurnID, Attempt: adm.Attempt, Owner: node}
	t := newTurn(&s.env, life, fence, adm)
	s.turns[key] = t
	s.threads[thread] = t
	s.running.Add(1)
	s.mu.Unlock()

	s.opts.Metrics.TurnStarted(adm.Attempt)
	s.feed.Committed(eventlog.Commit{
		Thread: thread, Epoch: adm.Epoch, Ordinal: adm.Ordinal, Attempt: adm.Attempt, TurnID: adm.TurnID, FirstSeq: adm.FirstSeq,
		Entries: []eventlog.Entry{{Type: "turn_started", Frame: adm.Started}},
	})
	go func() {
		defer s.running.Done()
		t.conduct(life, ag)
		s.forget(key, t)
		if t.ready { // no need to wait for a poll
			s.claim(life, thread)
		}
	}()
}

// forget removes a turn that is over.
func (s *Service) forget(key attemptKey, t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, key)
	if s.threads[t.fence.Thread] == t {
		delete(s.threads, t.fence.Thread)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// nudge makes the thread's turn, if it runs here, look for inputs.
func (s *Service) nudge(thread eventlog.Thread) {
	s.mu.Lock()
	t := s.threads[thread]
	s.mu.Unlock()
	if t != nil {
		t.nudge()
	}
}

// all returns the turns that run here.
func (s *Service) all() []*turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.turns))
}

// unknownAgent fails the turns of an agent that another node knew.
type unknownAgent string

func (a unknownAgent) Run(context.Context, agent.Turn) error {
	return fmt.Errorf("this node has no agent named %q", string(a))
}
