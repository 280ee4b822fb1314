package wsapi_test

import (
	"errors"
	"testing"
	"time"

	"turnlog/wsapi"
)

func TestFramesThatCannotBeReadComeLaterUnderTheSameNumbers(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{PingEvery: time.Second, SilenceLimit: 1100 * time.Millisecond}, nil)
	w.begin("1", "t", "T")
	p := follow(t, url)
	w.mu.Lock()
	w.nextErr = errors.New("redis is away")
	w.mu.Unlock()
	w.emit("1", "t", `{"type":"chunk","content":"a"}`)
	p.settle()
	w.mu.Lock()
	w.nextErr = nil
	w.mu.Unlock()
	p.want(`{"type":"chunk","content":"a","thread_id":"t","turn_id":"T","chat_seq":2}`)
	p.settle()
}
