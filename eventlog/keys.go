package eventlog

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxID is the longest id in bytes, after encoding.
const maxID = 256

// Keys that belong to no partition: nodes, the reaper and the format.
const (
	leaseKey  = "turnlog:{nodes}:lease"
	deadKey   = "turnlog:{nodes}:dead"
	buriedKey = "turnlog:{nodes}:buried"
	reaperKey = "turnlog:{nodes}:reaper"
	sinceKey  = "turnlog:{nodes}:since"
	formatKey = "turnlog:{nodes}:format"
)

// idSafe says whether a byte stands for itself in a key.
func idSafe(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '.' || c == '_' || c == '~' || c == '@' || c == '-'
}

// EncodeID percent-encodes an id for use in a key. It fails with ErrBadID when
// the id is empty, not valid UTF-8, or longer than 256 bytes once encoded.
func EncodeID(id string) (string, error) {
	if id == "" {
		return "", fmt.Errorf("%w: empty", ErrBadID)
	}
	if len(id) > maxID {
		return "", fmt.Errorf("%w: longer than %d bytes", ErrBadID, maxID)
	}
	if !utf8.ValidString(id) {
		return "", fmt.Errorf("%w: not valid UTF-8", ErrBadID)
	}
	out := escape(id)
	if len(out) > maxID {
		return "", fmt.Errorf("%w: longer than %d bytes once encoded", ErrBadID, maxID)
	}
	return out, nil
}

// escape percent-encodes everything outside the safe characters.
func escape(s string) string {
	safe := true
	for i := 0; i < len(s) && safe; i++ {
		safe = idSafe(s[i])
	}
	if safe {
		return s
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		if c := s[i]; idSafe(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// DecodeID is the reverse of EncodeID.
func DecodeID(s string) (string, error) {
	out, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("%w: %q", ErrBadID, s)
	}
	return out, nil
}

// threadKeys builds the keys of one thread; base is T of doc.go.
type threadKeys struct {
	partition int
	base      string // turnlog:{p}:<user>/<thread>
	member    string // <user>/<thread>, the thread's name in sets
}

func (k threadKeys) state() string    { return k.base + ":state" }
func (k threadKeys) log() string      { return k.base + ":log" }
func (k threadKeys) messages() string { return k.base + ":messages" }
func (k threadKeys) inputs() string   { return k.base + ":inputs" }
func (k threadKeys) requests() string { return k.base + ":requests" }
func (k threadKeys) queue() string    { return k.base + ":queue" }
func (k threadKeys) viewers() string  { return k.base + ":viewers" }
func (k threadKeys) turns() string    { return k.base + ":turns" }
func (k threadKeys) live() string     { return k.base + ":live" }

// keys checks a thread's ids and builds its keys.
func (l *Log) keys(t Thread) (threadKeys, error) {
	user, err := EncodeID(t.User)
	if err != nil {
		return threadKeys{}, fmt.Errorf("user: %w", err)
	}
	id, err := EncodeID(t.ID)
	if err != nil {
		return threadKeys{}, fmt.Errorf("thread id: %w", err)
	}
	p := partitionOf(user, l.opt.Partitions)
	member := user + "/" + id
	return threadKeys{partition: p, base: partitionPrefix(p) + member, member: member}, nil
}

// partitionOf names the partition of an encoded user: FNV-1a, 32 bits, modulo
// the number of partitions. It is part of the persistent format.
func partitionOf(encodedUser string, partitions int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(encodedUser))
	return int(h.Sum32() % uint32(partitions))
}

func partitionPrefix(p int) string { return "turnlog:{" + strconv.Itoa(p) + "}:" }

// Partition names the partition in which the keys of a user live.
func (l *Log) Partition(user string) (int, error) {
	enc, err := EncodeID(user)
	if err != nil {
		return 0, fmt.Errorf("user: %w", err)
	}
	return partitionOf(enc, l.opt.Partitions), nil
}

// userKey builds turnlog:{p}:<user>:<name>.
func (l *Log) userKey(user, name string) (string, error) {
	enc, err := EncodeID(user)
	if err != nil {
		return "", fmt.Errorf("user: %w", err)
	}
	return partitionPrefix(partitionOf(enc, l.opt.Partitions)) + enc + ":" + name, nil
}

// nodeKey builds turnlog:{p}:node:<id>:<name>. Node ids are minted by us.
func nodeKey(p int, node, name string) string {
	return partitionPrefix(p) + "node:" + escape(node) + ":" + name
}

// nodeChannel is the channel of a node's wake-ups, and the key of its hash.
func nodeChannel(node string) string { return "turnlog:node:" + escape(node) }

// liveChannel is the channel of a thread's frames.
func (l *Log) liveChannel(t Thread) (string, error) {
	k, err := l.keys(t)
	if err != nil {
		return "", err
	}
	return k.live(), nil
}

// parseMember turns <user>/<thread> back into a thread.
func parseMember(member string) (Thread, error) {
	user, id, ok := strings.Cut(member, "/")
	if !ok {
		return Thread{}, fmt.Errorf("%w: %q", ErrBadID, member)
	}
	u, err := DecodeID(user)
	if err != nil {
		return Thread{}, err
	}
	t, err := DecodeID(id)
	return Thread{User: u, ID: t}, err
}

func parseMembers(members []string) []Thread {
	out := make([]Thread, 0, len(members))
	for _, m := range members {
		if t, err := parseMember(m); err == nil {
			out = append(out, t)
		}
	}
	return out
}
