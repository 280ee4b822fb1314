package doctor

import (
	"fmt"
	"strings"

	"turnlog/cmd/turnlog/term"
)

// From which share of maxmemory on it is told.
const (
	nearlyFull = 80
	full       = 95
)

func memory(f Facts) Check {
	c := Check{Name: "memory", Means: "a full Redis refuses new turns and holds agents back; one without a limit grows until the system kills it"}
	if f.Info == nil {
		c.unknown("INFO")
		return c
	}
	used, limit := f.number("used_memory"), f.number("maxmemory")
	if limit == 0 {
		c.Found = term.Bytes(used) + " used, no limit"
		c.worse(Warn, "CONFIG SET maxmemory to what this machine can spare, with room for the copy that a rewrite of AOF makes.")
		return c
	}
	share := used * 100 / limit
	c.Found = fmt.Sprintf("%s used of %s (%d %%)", term.Bytes(used), term.Bytes(limit), share)
	switch {
	case share >= full:
		c.worse(Fail, "Raise maxmemory now. Then shorten replay.retention and history.retention, or lower replay.max_bytes.")
	case share >= nearlyFull:
		c.worse(Warn, "Raise maxmemory, shorten replay.retention and history.retention, or lower replay.max_bytes.")
	}
	return c
}

func eviction(f Facts) Check {
	c := Check{Name: "eviction", Means: "a Redis that evicts drops logs and states on its own: replays become incomplete, numbering begins anew"}
	policy := f.Config["maxmemory-policy"]
	if policy == "" {
		policy = f.text("maxmemory_policy")
	}
	if policy == "" {
		c.unknown("CONFIG and INFO")
		return c
	}
	c.Found = policy
	evicted := f.number("evicted_keys")
	if evicted > 0 {
		c.Found += fmt.Sprintf(", %d keys evicted since it started", evicted)
	}
	if policy == "noeviction" {
		return c
	}
	severity, why := Warn, "it hits what finished turns left behind."
	switch {
	case f.number("maxmemory") == 0:
		why = "it does nothing without maxmemory, and much once that is set."
	case strings.HasPrefix(policy, "allkeys"):
		severity, why = Fail, "it hits running turns, too."
	}
	c.worse(severity, "CONFIG SET maxmemory-policy noeviction, and CONFIG REWRITE so that it stays: "+why)
	return c
}

// Output buffers of subscribers: a node gets the appends of others, each up to 1 MiB,
// and is cut off when it falls behind by more than the limit.
const (
	smallBuffer = 8 << 20
	tinyBuffer  = 2 << 20
)

func pubsub(f Facts) Check {
	c := Check{Name: "pubsub", Means: "nodes subscribe to the threads that they follow; one whose buffer overflows is cut off and reads the log again"}
	if f.Subscribe != "" {
		c.Found = "no channel can be subscribed: " + f.Subscribe
		c.worse(Fail, "Give this user the channels: ACL SETUSER name &turnlog:* +subscribe +unsubscribe +publish +ping")
		return c
	}
	limit := f.Config["client-output-buffer-limit"]
	if limit == "" {
		c.Found = "channels work; the buffer limits are not known"
		return c
	}
	words := strings.Fields(limit)
	for i := 0; i+3 < len(words); i += 4 {
		if words[i] != "pubsub" {
			continue
		}
		hard, soft, seconds := toInt(words[i+1]), toInt(words[i+2]), toInt(words[i+3])
		c.Found = fmt.Sprintf("buffer limit %s, %s for %d s", limitText(hard), limitText(soft), seconds)
		const do = "CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\" (the default)."
		switch smallest := least(hard, soft); {
		case smallest > 0 && smallest < tinyBuffer:
			c.worse(Fail, do)
		case hard > 0 && hard < smallBuffer:
			c.worse(Warn, do)
		}
	}
	if n := f.number("client_output_buffer_limit_disconnections"); n > 0 {
		c.Found += fmt.Sprintf(", %d clients cut off since it started", n)
		c.worse(Warn, "Somebody read too slowly: look for nodes that are short of CPU or far away, or raise the limit.")
	}
	return c
}

func toInt(text string) int64 {
	var n int64
	_, _ = fmt.Sscan(text, &n) // what is no number counts as no limit
	return n
}

func limitText(n int64) string {
	if n == 0 {
		return "none"
	}
	return term.Bytes(n)
}

// least is the smaller of two limits, where 0 is none.
func least(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Limits of streams: trimming drops whole nodes of a stream.
const (
	bigNode   = 1000    // entries; so much more than replay.max_frames may stay
	bulkBytes = 8 << 20 // a submission or frame travels as one value
)

func streams(f Facts) Check {
	c := Check{Name: "streams", Means: "logs are streams, trimmed by whole stream nodes; a frame or message is one value"}
	if f.Config == nil {
		c.unknown("CONFIG")
		return c
	}
	entries, known := f.setting("stream-node-max-entries")
	bytes, _ := f.setting("stream-node-max-bytes")
	bulk, bulkKnown := f.setting("proto-max-bulk-len")
	c.Found = fmt.Sprintf("%d entries or %s per node, values up to %s", entries, term.Bytes(bytes), term.Bytes(bulk))
	if known && bytes == 0 && (entries == 0 || entries > bigNode) || known && entries > bigNode && bytes > 1<<20 {
		c.worse(Warn, "CONFIG SET stream-node-max-entries 100 and stream-node-max-bytes 4096 (the defaults): as it is, logs grow far beyond replay.max_frames before they are trimmed.")
	}
	if bulkKnown && bulk < bulkBytes {
		c.worse(Warn, "CONFIG SET proto-max-bulk-len 512mb (the default): it has to be above limits.inbound_bytes and limits.frame_bytes.")
	}
	return c
}
