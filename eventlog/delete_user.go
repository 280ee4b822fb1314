package eventlog

import (
	"context"
	"fmt"
	"time"
)

var deleteUserScript = loadScript("delete_user")

const (
	deletePage = 64 // threads between looks at the time
	namedBegun = 20 // threads begun meanwhile that are named
)

// UserDeletion reports the deletion of a user's threads.
type UserDeletion struct {
	Deleted
	Began    time.Time // by the Redis clock: threads that existed then are deleted
	Complete bool      // all of them; false: call again

	// Threads that were begun after Began. They were left alone.
	Begun    int
	BegunIDs []string // some of them
}

// DeleteUser deletes all threads that a user has at this moment, whatever they run, one
// after another. It stops between two pages of them once it took atMost, ctx has
// ended, or Redis does not answer, and then says what is gone: calling it again goes on,
// because what is gone has left the user's indexes. A call that changed nothing
// returns its error; another one returns its report, which is not Complete then. A
// reply that was lost is not counted. No command grows with the number of threads.
func (l *Log) DeleteUser(ctx context.Context, user string, atMost time.Duration) (UserDeletion, error) {
	end := time.Now().Add(atMost)
	began, err := l.Now(ctx)
	if err != nil {
		return UserDeletion{}, err
	}
	d := UserDeletion{Began: began.Truncate(time.Millisecond)}
	done := false
	for _, index := range []string{"threads", "running"} {
		if done, err = l.deleteListed(ctx, user, index, end, &d); err != nil || !done {
			break
		}
	}
	if err == nil && done {
		err = l.settleUser(ctx, user, &d)
	}
	if err != nil && d.Deleted == (Deleted{}) {
		return UserDeletion{}, fmt.Errorf("delete user: %w", err)
	}
	d.Complete = done && err == nil
	return d, nil
}

// deleteListed deletes the threads of one index of the user; false: the time is over. It
// goes over the index until it meets nothing but threads that began meanwhile: what is
// removed under a cursor may hide something from it.
func (l *Log) deleteListed(ctx context.Context, user, index string, end time.Time, d *UserDeletion) (bool, error) {
	key, err := l.userKey(user, index)
	if err != nil {
		return false, err
	}
	for cursor, met := uint64(0), false; ; {
		ids, next, err := l.scanIndex(ctx, key, index == "threads", cursor)
		if err != nil {
			return false, err
		}
		for _, encoded := range ids {
			id, err := DecodeID(encoded)
			if err != nil {
				continue
			}
			gone, later, err := l.deleteThread(ctx, Thread{User: user, ID: id}, d.Began)
			if err != nil {
				return false, err
			}
			d.add(gone)
			met = met || !later
		}
		if cursor = next; cursor == 0 {
			if !met {
				return true, nil
			}
			met = false
		}
		if time.Now().After(end) {
			return false, nil
		}
	}
}

// scanIndex reads a page of an index.
func (l *Log) scanIndex(ctx context.Context, key string, scored bool, cursor uint64) ([]string, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	if !scored {
		ids, next, err := l.rdb.SScan(ctx, key, cursor, "", deletePage).Result()
		if err != nil {
			return nil, 0, l.mapError(ctx, "list running threads", err)
		}
		return ids, next, nil
	}
	pairs, next, err := l.rdb.ZScan(ctx, key, cursor, "", deletePage).Result()
	if err != nil {
		return nil, 0, l.mapError(ctx, "list threads", err)
	}
	ids := make([]string, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		ids = append(ids, pairs[i])
	}
	return ids, next, nil
}

// settleUser clears what is left when all threads are gone, and reports which ones are not.
func (l *Log) settleUser(ctx context.Context, user string, d *UserDeletion) error {
	key, err := l.userKey(user, "threads")
	if err != nil {
		return err
	}
	r, err := l.run(ctx, deleteUserScript, key, namedBegun)
	if err != nil {
		return err
	}
	d.Begun = int(r.int(0))
	for _, encoded := range r[1:].strings() {
		if id, err := DecodeID(encoded); err == nil {
			d.BegunIDs = append(d.BegunIDs, id)
		}
	}
	return nil
}
