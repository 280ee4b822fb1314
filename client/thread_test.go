package client_test

import (
	"strings"
	"testing"

	"turnlog/client"
)

// roll lets one thing happen.
func (m *model) roll() {
	switch dice := m.rnd.IntN(100); {
	case dice < 30 && len(m.toClient) > 0:
		m.hear()
	case dice < 45 && len(m.toServer) > 0:
		m.serve()
	case dice < 65 && m.running != "":
		m.append("chunk", m.running, "")
	case dice < 70 && m.running != "":
		m.finish()
	case dice < 72:
		m.begin() // somebody else's message
	case dice < 76:
		m.say()
	case dice < 82 && m.online:
		m.cut()
	case dice < 90 && !m.online:
		m.connect()
	case dice < 92 && len(m.log) > 1:
		m.log = m.log[1+m.rnd.IntN(len(m.log)-1):] // trimmed
	case dice < 93 && m.running == "":
		m.log = nil // retention is over; numbering goes on
	case dice < 94 && m.running == "" && m.turns > 0: // numbers were lost
		m.epoch++
		m.log = nil
		if m.last += 1 << 16; m.rnd.IntN(2) == 0 {
			m.last = 0
		}
		if m.follows {
			m.resume(resumption{}, true)
		}
	case dice < 96 && len(m.toClient) > 0 && len(m.log) > 0 && m.follows: // repeated by the wire
		if f := m.log[m.rnd.IntN(len(m.log))]; f.Type == "chunk" && !m.headers() {
			m.toClient = append(m.toClient, f)
		}
	case dice < 98 && len(m.toClient) > 1 && m.machine.InStep() && !m.headers():
		if f, ok := m.toClient[0].(client.Frame); ok && f.Type == "chunk" { // lost on the wire
			m.toClient = m.toClient[1:]
		}
	}
}

// headers says whether a header is on its way: what is repeated or lost then belongs to
// another order of things than the one that it opens.
func (m *model) headers() bool {
	for _, in := range m.toClient {
		if _, ok := in.(client.Header); ok {
			return true
		}
	}
	return false
}

// settle ends what runs on a calm network and says what is wrong.
func (m *model) settle() string {
	calm := func() {
		for len(m.toServer)+len(m.toClient) > 0 && len(m.bad) == 0 {
			for len(m.toServer) > 0 {
				m.serve()
			}
			for len(m.toClient) > 0 {
				m.hear()
			}
		}
	}
	if !m.online {
		m.connect()
	}
	m.say()
	calm()
	m.append("chunk", m.running, "")
	calm()
	if !m.machine.Busy() {
		m.bad = append(m.bad, "idle while a turn runs")
	}
	m.finish()
	calm()
	if epoch, seq := m.machine.Cursor(); epoch != m.name() || seq != m.last || !m.machine.InStep() {
		m.bad = append(m.bad, "not where the log ends")
	}
	if m.machine.Busy() {
		m.bad = append(m.bad, "busy when everything has ended")
	}
	return strings.Join(m.bad, "; ")
}

func play(seed uint64, steps int, spoil string) string {
	m := newModel(seed, spoil)
	m.machine.Opened(false)
	m.connect()
	for i := 0; i < steps && len(m.bad) == 0; i++ {
		m.roll()
	}
	return m.settle()
}

func TestB113_EachFrameOnceAndInOrderWhateverHappens(t *testing.T) {
	for seed := range uint64(1000) {
		if bad := play(seed, 300, ""); bad != "" {
			t.Fatalf("seed %d: %s", seed, bad)
		}
	}
}

func TestTheModelFindsWorseMachines(t *testing.T) {
	for _, spoil := range []string{"no dedupe", "no gap check", "no epoch"} {
		found := false
		for seed := uint64(0); seed < 200 && !found; seed++ {
			found = play(seed, 300, spoil) != ""
		}
		if !found {
			t.Errorf("%s: not found", spoil)
		}
	}
}
