package client_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"turnlog/client"
)

// model is a server with one thread, a client's machine, and a wire between them that cuts,
// loses and repeats, moved by dice. It follows section 5 of docs/protocol.md.
type model struct {
	rnd     *rand.Rand
	machine *client.Machine
	spoil   string
	bad     []string

	// The server.
	epoch   int
	log     []client.Frame // held ones
	last    int64
	turns   int
	running string          // turn id
	begins  int64           // number of the newest turn's first frame
	met     map[string]bool // messages that were admitted
	follows bool

	// The wire.
	online   bool
	toClient []any
	toServer []any

	// The client.
	messages int
	waiting  []string // messages without acknowledgement
	mark     string   // epoch of the newest delivered frame
	newest   int64    // its number
	seen     map[string]bool
	next     int64 // number that has to come, 0 = any higher one
}

// What travels besides frames, headers and acknowledgements.
type (
	resumption struct {
		epoch string
		seq   int64
	}
	submission string
	receipt    struct {
		id string
		client.Ack
	}
)

func newModel(seed uint64, spoil string) *model {
	return &model{
		rnd: rand.New(rand.NewPCG(seed, 1)), machine: client.NewMachine(), spoil: spoil,
		epoch: 1, met: map[string]bool{}, seen: map[string]bool{}, next: 0,
	}
}

func (m *model) name() string { return fmt.Sprintf("e%d", m.epoch) }

// append logs a frame and shows it to the client.
func (m *model) append(typ, turn, more string) {
	m.last++
	raw := fmt.Sprintf(`{"type":%q,"epoch":%q%s}`, typ, m.name(), more)
	f := client.Frame{Type: typ, ThreadID: "t", TurnID: turn, Seq: m.last, Raw: []byte(raw)}
	if typ == "turn_started" {
		m.begins = m.last
	}
	m.log = append(m.log, f)
	if m.follows {
		m.toClient = append(m.toClient, f)
	}
}

func (m *model) begin() string {
	if m.running != "" {
		m.append("turn_finished", m.running, `,"outcome":"superseded"`)
	}
	m.turns++
	m.running = fmt.Sprintf("turn-%d", m.turns)
	m.append("turn_started", m.running, `,"attempt":1`)
	return m.running
}

func (m *model) finish() {
	m.append("turn_finished", m.running, `,"outcome":"completed"`)
	m.running = ""
}

// resume answers a resume_chat, or a viewer's loss of its place.
func (m *model) resume(from resumption, fresh bool) {
	m.follows = true
	h := client.Header{ThreadID: "t", Status: client.StatusFinished, LastSeq: m.last, Epoch: m.name(), TurnID: fmt.Sprintf("turn-%d", m.turns)}
	switch {
	case m.running != "":
		h.Status = client.StatusRunning
	case len(m.log) == 0:
		m.toClient = append(m.toClient, client.Header{ThreadID: "t", Status: client.StatusUnknown, Epoch: [...]string{"", m.name()}[m.rnd.IntN(2)]})
		return
	}
	start := from.seq
	if fresh || from.epoch != m.name() || from.seq > m.last {
		start, h.ReplayIncomplete = m.begins-1, true
	}
	if held := m.last - int64(len(m.log)); start < held {
		start, h.ReplayIncomplete = held, true
	}
	missed := m.log[len(m.log)-int(m.last-start):]
	if h.ReplayCount = int64(len(missed)); len(missed) > 0 {
		h.FirstSeq = start + 1
	}
	m.toClient = append(m.toClient, h)
	for _, f := range missed {
		m.toClient = append(m.toClient, f)
	}
}

// serve takes one message of the client.
func (m *model) serve() {
	in := m.toServer[0]
	m.toServer = m.toServer[1:]
	switch in := in.(type) {
	case resumption:
		m.resume(in, in.seq == 0)
	case submission:
		r := receipt{string(in), client.Ack{Epoch: m.name(), Duplicate: m.met[string(in)], TurnID: m.running}}
		if !r.Duplicate {
			m.met[string(in)] = true
			if m.running != "" { // logged before this client follows
				m.append("turn_finished", m.running, `,"outcome":"superseded"`)
				m.running = ""
			}
			m.follows = true
			r.TurnID = m.begin()
		}
		m.toClient = append(m.toClient, r)
	}
}

// hear has the client take one message of the server.
func (m *model) hear() {
	in := m.toClient[0]
	m.toClient = m.toClient[1:]
	m.machine.Spoil(m.spoil)
	switch in := in.(type) {
	case client.Header:
		m.does(m.machine.Header(in))
		next := in.LastSeq + 1
		if in.ReplayCount > 0 {
			next = in.FirstSeq
		}
		switch {
		case in.Status == client.StatusUnknown:
			m.next = 0
		case in.Epoch != m.mark:
			m.next = next
		default:
			m.next = max(next, m.newest+1)
		}
	case client.Frame:
		resume, deliver, reconcile := m.machine.Frame(in)
		if deliver {
			m.delivered(in)
		}
		m.does(resume, deliver, reconcile)
	case receipt:
		if i := slices.Index(m.waiting, in.id); i >= 0 {
			m.waiting = slices.Delete(m.waiting, i, i+1)
			m.does(m.machine.Accepted(in.Ack))
			if !in.Duplicate && in.TurnID == m.running && !m.machine.Busy() {
				m.bad = append(m.bad, "idle while the message's turn runs")
			}
		}
	}
}

func (m *model) delivered(f client.Frame) {
	var v struct{ Epoch string }
	_ = f.Decode(&v)
	id := fmt.Sprintf("%s:%d", v.Epoch, f.Seq)
	if m.seen[id] {
		m.bad = append(m.bad, id+" came twice")
	}
	m.seen[id] = true
	if m.next > 0 && f.Seq != m.next {
		m.bad = append(m.bad, fmt.Sprintf("%s came, want number %d", id, m.next))
	}
	if m.next == 0 && f.Seq <= m.newest && m.mark == v.Epoch {
		m.bad = append(m.bad, fmt.Sprintf("%s came behind %d", id, m.newest))
	}
	m.mark, m.newest, m.next = v.Epoch, f.Seq, f.Seq+1
}

func (m *model) does(resume, _, _ bool) {
	if resume {
		epoch, seq := m.machine.Cursor()
		m.toServer = append(m.toServer, resumption{epoch, seq})
	}
}

func (m *model) connect() {
	m.online, m.follows, m.toClient, m.toServer = true, false, nil, nil
	if len(m.waiting) > 0 {
		m.machine.Retried()
	}
	m.does(m.machine.Connected())
	for _, id := range m.waiting {
		m.toServer = append(m.toServer, submission(id))
	}
}

func (m *model) cut() {
	m.online, m.follows, m.toClient, m.toServer = false, false, nil, nil
	m.machine.Disconnected()
}

// say is the user's.
func (m *model) say() {
	m.messages++
	id := fmt.Sprintf("m%d", m.messages)
	m.waiting = append(m.waiting, id)
	m.machine.Sent()
	if m.online {
		m.toServer = append(m.toServer, submission(id))
	}
}
