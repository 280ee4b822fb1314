package eventlog

import "fmt"

// KeyInfo describes one key to a person who looks at Redis directly.
type KeyInfo struct {
	Name string // the key, or the channel
	Type string // "stream", "hash", "string", "list", "set", "zset" or "channel"
	Key  string // the key without its variable parts, as doc.go names it
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
		{formatKey, "string", formatKey},
	}, nil
}
