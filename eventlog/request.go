package eventlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	claimScript   = loadScript("claim_request")
	releaseScript = loadScript("release_conn")
)

// ClaimRequest makes conn the target of an open request, if it has none and
// nobody else is preferred, or confirms that it is. False: somebody else runs
// it, or it is not open.
func (l *Log) ClaimRequest(ctx context.Context, t Thread, requestID, conn string) (bool, error) {
	k, err := l.keys(t)
	if err != nil {
		return false, err
	}
	r, err := l.run(ctx, claimScript, k.state(), requestID, conn)
	if err != nil {
		return false, fmt.Errorf("claim request: %w", err)
	}
	return r.int(0) == 1, nil
}

// ReleaseConn forgets a connection that went away: its open requests wait for
// whoever fits next, and other nodes are told. It returns their ids.
func (l *Log) ReleaseConn(ctx context.Context, t Thread, conn string) ([]string, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	r, err := l.run(ctx, releaseScript, k.state(), conn)
	if err != nil {
		return nil, fmt.Errorf("release connection: %w", err)
	}
	return r.strings(), nil
}

// FindRequest finds the thread in which a user's open request waits.
func (l *Log) FindRequest(ctx context.Context, user, requestID string) (Thread, bool, error) {
	key, err := l.userKey(user, "requests")
	if err != nil {
		return Thread{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	id, err := l.rdb.HGet(ctx, key, requestID).Result()
	if errors.Is(err, redis.Nil) {
		return Thread{}, false, nil
	}
	if err != nil {
		return Thread{}, false, l.mapError(ctx, "find request", err)
	}
	decoded, err := DecodeID(id)
	if err != nil {
		return Thread{}, false, err
	}
	return Thread{User: user, ID: decoded}, true, nil
}
