package eventlog

import (
	"context"
	"fmt"
)

var deleteScript = loadScript("delete")

// Delete removes every key of a thread and stops its turn: the owner is woken
// and everything it still writes is refused. A mark stays for 24 h, so that
// nobody late resurrects the thread. False: there was nothing to delete.
func (l *Log) Delete(ctx context.Context, t Thread) (bool, error) {
	k, err := l.keys(t)
	if err != nil {
		return false, err
	}
	r, err := l.run(ctx, deleteScript, k.state())
	if err != nil {
		return false, fmt.Errorf("delete thread: %w", err)
	}
	return r.int(0) == 1, nil
}
