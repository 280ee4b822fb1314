package eventlog

import (
	"fmt"
	"strings"
)

// KeyInfo describes one key to a person who looks at Redis directly.
type KeyInfo struct {
	Name string // the key, or the channel
	Type string // "stream", "hash", "string", "list", "set", "zset" or "channel"
	Key  string // the key without its variable parts, as doc.go names it
}

// Shows says in a few words what the key holds.
func (k KeyInfo) Shows() string { return keyShows[k.Key] }

// Command is the redis-cli command that shows the key, for a POSIX shell and
// without the words that name the server; "" for a type that has none.
func (k KeyInfo) Command() string {
	format := keyCommands[k.Type]
	if format == "" {
		return ""
	}
	return fmt.Sprintf(format, "'"+strings.ReplaceAll(k.Name, "'", `'\''`)+"'")
}

// DescribeKeys names every key that belongs to a thread, its user and its
// partition, for a log with so many partitions. It fails with ErrBadID for ids
// that no thread can have.
func DescribeKeys(thread Thread, partitions int) ([]KeyInfo, error) {
	l := &Log{opt: Options{Partitions: partitions}.withDefaults()}
	k, err := l.keys(thread)
	if err != nil {
		return nil, err
	}
	user, err := EncodeID(thread.User)
	if err != nil {
		return nil, fmt.Errorf("user: %w", err)
	}
	partition := partitionPrefix(k.partition)
	return []KeyInfo{
		{k.state(), "hash", "T:state"},
		{k.log(), "stream", "T:log"},
		{k.messages(), "stream", "T:messages"},
		{k.turns(), "hash", "T:turns"},
		{k.requests(), "hash", "T:requests"},
		{k.inputs(), "stream", "T:inputs"},
		{k.queue(), "list", "T:queue"},
		{k.viewers(), "hash", "T:viewers"},
		{k.live(), "channel", "T:live"},
		{partition + user + ":threads", "zset", "U:threads"},
		{partition + user + ":running", "set", "U:running"},
		{partition + user + ":requests", "hash", "U:requests"},
		{partition + "turns", "zset", "P:turns"},
		{partition + "due", "zset", "P:due"},
		{partition + "ready", "zset", "P:ready"},
		{partition + "dead", "zset", "P:dead"},
		{leaseKey, "zset", leaseKey},
		{deadKey, "zset", deadKey},
		{buriedKey, "zset", buriedKey},
		{reaperKey, "string", reaperKey},
		{sinceKey, "string", sinceKey},
		{formatKey, "string", formatKey},
	}, nil
}

// keyShows: what each key of DescribeKeys holds.
var keyShows = map[string]string{
	"T:state":                "the newest turn: status, outcome, owner, attempt, policy, deadlines, numbering",
	"T:log":                  "the frames; the id before the dash is chat_seq, turn is the turn's ordinal",
	"T:messages":             "persisted messages by chat_seq; outlive the log",
	"T:turns":                "turn ordinal -> turn_id",
	"T:requests":             "requests of the running turn that wait for an answer",
	"T:inputs":               "answers, stops and steers the running turn has been sent",
	"T:queue":                "submissions waiting to become turns",
	"T:viewers":              "nodes with viewers -> their generation",
	"T:live":                 "frames as they are published to other nodes (Ctrl-C ends)",
	"U:threads":              "threads of the user by last activity",
	"U:running":              "threads of the user that run a turn",
	"U:requests":             "open request id -> thread",
	"P:turns":                "running turns of the partition",
	"P:due":                  "threads by their nearest deadline (Unix milliseconds)",
	"P:ready":                "threads whose queue any node may claim",
	"P:dead":                 "nodes this partition knows to be dead",
	"turnlog:{nodes}:lease":  "nodes by the expiry of their lease (Unix milliseconds)",
	"turnlog:{nodes}:dead":   "nodes declared dead in the last 24 h",
	"turnlog:{nodes}:buried": "of these, nodes whose turns and viewers have all been dealt with",
	"turnlog:{nodes}:reaper": "who leads the reaper",
	"turnlog:{nodes}:since":  "since when it leads (Unix milliseconds)",
	"turnlog:{nodes}:format": "format version and number of partitions",
}

// keyCommands: how redis-cli shows a key of each type.
var keyCommands = map[string]string{
	"hash":    "HGETALL %s",
	"stream":  "XRANGE %s - + COUNT 50",
	"list":    "LRANGE %s 0 -1",
	"set":     "SMEMBERS %s",
	"zset":    "ZRANGE %s 0 -1 WITHSCORES",
	"string":  "GET %s",
	"channel": "SUBSCRIBE %s",
}
