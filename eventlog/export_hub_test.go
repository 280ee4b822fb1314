package eventlog

// Internals that the hub's tests look at.
var (
	Plan  = plan
	Ahead = ahead
)

// DecodePayload parses a live payload the way the follower does.
func DecodePayload(p string) (c Commit, control string, err error) {
	head, err := parsePayload(p)
	if err != nil {
		return Commit{}, "", err
	}
	if head.kind != '1' {
		return Commit{}, string(head.kind) + head.request, nil
	}
	entries, err := head.entries()
	return Commit{Epoch: head.epoch, Ordinal: head.ordinal, Attempt: head.attempt,
		TurnID: head.turnID, FirstSeq: head.first, Entries: entries}, "", err
}
