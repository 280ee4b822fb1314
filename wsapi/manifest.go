package wsapi

import (
	"encoding/json"
	"sync"
)

// manifest is what tools the client runs itself. The reader replaces it, the
// writer asks.
type manifest struct {
	mu    sync.Mutex
	sent  bool
	raw   json.RawMessage // the list as sent
	names map[string]struct{}
}

// mostTools bounds a manifest.
const mostTools = 4096

// set replaces the manifest; false when the list is not one of named tools.
func (m *manifest) set(raw json.RawMessage) bool {
	var tools []struct {
		Name *string `json:"name"`
	}
	if json.Unmarshal(raw, &tools) != nil || tools == nil || len(tools) > mostTools {
		return false
	}
	names := make(map[string]struct{}, len(tools))
	for _, t := range tools {
		if t.Name == nil || *t.Name == "" {
			return false
		}
		names[*t.Name] = struct{}{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent, m.raw, m.names = true, raw, names
	return true
}

// inForce is the list that a submission carries, nil without one.
func (m *manifest) inForce() json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.raw
}

// fits reports whether the client runs this tool. One that never sent a
// manifest is taken to run everything.
func (m *manifest) fits(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.sent {
		return true
	}
	_, ok := m.names[name]
	return ok
}
