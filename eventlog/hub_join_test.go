package eventlog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/eventlog"
)

// deafBus never confirms a subscription.
type deafBus struct{ *fakeBus }

func (deafBus) Subscribe(ctx context.Context, _ string, _ func(string)) (func(), error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestReserve_AnUnconfirmedChannelIsUnavailableInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeStore(newFakeBus())
		hub := eventlog.NewHub(store, deafBus{store.bus}, "n1", eventlog.HubOptions{JoinWait: 3 * time.Second})
		began := time.Now()
		if _, err := hub.Reserve(t.Context(), alice, eventlog.JoinOptions{}); !errors.Is(err, eventlog.ErrUnavailable) {
			t.Errorf("got %v, want %v", err, eventlog.ErrUnavailable)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		if hub.Following(alice) || len(store.detach) > 0 {
			t.Errorf("following %v, detached %v; the detach is left to Run", hub.Following(alice), store.detach)
		}
		gone := errors.New("the client has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if _, err := hub.Reserve(ctx, alice, eventlog.JoinOptions{}); !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- hub.Run(ctx) }()
		<-time.After(time.Minute) // of the bubble's clock
		synctest.Wait()
		store.change(alice, func(*fakeThread) {
			if len(store.detach) == 0 {
				t.Error("Run did not detach")
			}
		})
		stop()
		<-ended
	})
}
