package eventlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// transientReplies are error replies that pass without our doing.
var transientReplies = []string{
	"OOM", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "MISCONF", "NOREPLICAS",
	"NOAUTH", "WRONGPASS", "NOPERM", "MOVED", "ASK", "UNKILLABLE", "ERR max number of clients",
}

// isUncertain tells that no reply came, so that the call may or may not have been made.
func isUncertain(err error) bool {
	var reply redis.Error
	return !errors.As(err, &reply)
}

// isTransient tells that the same call may succeed later: no reply, or one that passes.
func isTransient(err error) bool {
	if errors.Is(err, ErrOutOfMemory) {
		return true
	}
	if isUncertain(err) {
		return !errors.Is(err, redis.ErrClosed)
	}
	for _, prefix := range transientReplies {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

func isNoScript(err error) bool {
	return !isUncertain(err) && strings.HasPrefix(err.Error(), "NOSCRIPT")
}

func isOutOfMemory(err error) bool {
	return errors.Is(err, ErrOutOfMemory) || redis.HasErrorPrefix(err, "OOM")
}

// givenUp is the error of a call whose outage budget is spent.
func givenUp(last error) error {
	if isOutOfMemory(last) {
		return fmt.Errorf("%w: %w", ErrOutOfMemory, last)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, last)
}
