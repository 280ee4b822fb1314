package chaos

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// lasting are the keys that need no TTL; eventlog's documentation lists them.
var lasting = []string{"turnlog:{nodes}:lease", "turnlog:{nodes}:dead", "turnlog:{nodes}:buried", "turnlog:{nodes}:term", "turnlog:{nodes}:format", "turnlog:{nodes}:reaper"}

// fleeting are endings of keys that exist only while a turn runs, waits, or is watched.
var fleeting = []string{":inputs", ":requests", ":running", ":viewers", ":queue", ":inbox", ":viewing"}

// leftovers are keys and channels that should not be there when nothing runs and
// nobody watches.
func (r *run) leftovers(ctx context.Context, rdb *redis.Client) (keys, channels []string, err error) {
	all, err := rdb.Keys(ctx, "*").Result()
	if err != nil {
		return nil, nil, err
	}
	for _, key := range all {
		switch {
		case slices.Contains(lasting, key):
			continue
		case slices.ContainsFunc(fleeting, func(end string) bool { return strings.HasSuffix(key, end) }):
			keys = append(keys, key)
			continue
		case strings.HasSuffix(key, ":turns") && strings.Contains(key, ":node:"),
			strings.HasSuffix(key, ":turns") && !strings.Contains(key, "/"), strings.HasSuffix(key, "}:due"), strings.HasSuffix(key, "}:ready"):
			keys = append(keys, key)
			continue
		}
		ttl, err := rdb.TTL(ctx, key).Result()
		if err != nil {
			return nil, nil, err
		}
		if ttl == -1 {
			keys = append(keys, key+" (no TTL)")
		}
	}
	alive := r.cluster.ids()
	leases, err := rdb.ZRange(ctx, "turnlog:{nodes}:lease", 0, -1).Result()
	if err != nil {
		return nil, nil, err
	}
	for _, id := range leases {
		if !slices.Contains(alive, id) {
			keys = append(keys, "the lease of "+id)
		}
	}
	subscribed, err := rdb.PubSubChannels(ctx, "*").Result()
	if err != nil {
		return nil, nil, err
	}
	for _, ch := range subscribed {
		if id, node := strings.CutPrefix(ch, "turnlog:node:"); !node || !slices.Contains(alive, id) {
			channels = append(channels, ch)
		}
	}
	counts, err := rdb.PubSubNumSub(ctx, subscribed...).Result()
	if err != nil {
		return nil, nil, err
	}
	for ch, n := range counts {
		if n != 1 {
			channels = append(channels, fmt.Sprintf("%s with %d subscribers", ch, n))
		}
	}
	slices.Sort(keys)
	return keys, channels, nil
}

// ids are the ids of the nodes that run, whatever they have been called since they started.
func (c *cluster) ids() (out []string) {
	for i := range Nodes {
		if id := c.idNow(i); id != "" {
			out = append(out, id)
		}
	}
	return out
}

// slotOf is the slot in which a node with this id runs, -1 when it is not known.
func (c *cluster) slotOf(id string) int {
	for i := range Nodes {
		if c.idNow(i) == id {
			return i
		}
	}
	return -1
}

// idNow reads a node's present id from its log: it changes when it rejoins.
func (c *cluster) idNow(i int) string {
	s := c.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.node == nil {
		return ""
	}
	if named := renamed.FindAllStringSubmatch(s.node.Stderr.String(), -1); len(named) > 0 {
		return named[len(named)-1][1]
	}
	return s.id
}

// renamed is what a node logs when it goes on under another id.
var renamed = regexp.MustCompile(`new_node="?([^\s"]+)`)
