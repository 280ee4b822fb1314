package embedded

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run runs the node until ctx has ended and the node has drained, or until a part
// has failed.
func (n *Node) Run(ctx context.Context) error {
	ground, endGround := context.WithCancel(context.WithoutCancel(ctx))
	defer endGround()
	group, failed := errgroup.WithContext(ground)
	work, endWork := context.WithCancel(failed)
	defer endWork()
	worked := make(chan struct{})

	for _, part := range []func(context.Context) error{n.bus.Run, n.hub.Run, n.sockets.Run} {
		group.Go(func() error { return ended(part(failed)) })
	}
	group.Go(func() error { return ended(n.reaper.Run(work)) })
	group.Go(func() error {
		defer close(worked)
		return ended(n.service.Run(work))
	})
	group.Go(func() error { return n.register(work) })
	group.Go(func() error {
		defer endGround() // what the turns stand on goes last
		select {
		case <-ctx.Done():
		case <-failed.Done():
		}
		n.drain(failed)
		endWork()
		<-worked
		return nil
	})
	return errors.Join(group.Wait(), n.log.Close())
}

// Hurry ends the wait for running turns, now or when it begins: they end as
// shutdown. It does not start the drain; that is for Run's context.
func (n *Node) Hurry() { n.hurry.Do(func() { close(n.hurried) }) }

// closeGrace is what sockets get beyond the time over which they are closed to say goodbye.
const closeGrace = 2 * time.Second

// drain refuses new turns, closes the sockets, and waits for running turns: at
// most Options.Drain.Timeout, and no longer than to Hurry.
func (n *Node) drain(ctx context.Context) {
	n.draining.Store(true)
	ctx, cancel := context.WithCancel(ctx)
	var watch, all sync.WaitGroup
	watch.Go(func() {
		select {
		case <-n.hurried:
			cancel()
		case <-ctx.Done():
		}
	})
	limits := n.options.Drain
	all.Go(func() {
		waiting, cancel := context.WithTimeout(ctx, limits.Timeout)
		defer cancel()
		n.tell("drain turns", n.service.Drain(waiting))
	})
	all.Go(func() {
		closing, cancel := context.WithTimeout(ctx, limits.CloseSpread+closeGrace)
		defer cancel()
		n.tell("close sockets", n.sockets.Shutdown(closing, limits.CloseSpread))
	})
	all.Go(func() {
		closing, cancel := context.WithTimeout(ctx, limits.CloseSpread+closeGrace)
		defer cancel()
		n.tell("close event streams", n.api.Shutdown(closing, limits.CloseSpread))
	})
	all.Wait()
	cancel()
	watch.Wait()
}

// tell logs what did not end in time; it is not worth failing over.
func (n *Node) tell(what string, err error) {
	if err != nil {
		n.options.Logger.Warn("not finished in time", "what", what, "error", err)
	}
}

// ended drops the error that only says that a part was told to stop.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
