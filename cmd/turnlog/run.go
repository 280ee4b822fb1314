package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// run serves until a signal came and the node has drained, or until a part
// failed. The parts stop in the order in which they need each other: turns and
// sockets first, what they stand on last.
func (n *node) run(ctx context.Context, listener net.Listener, embedded *embeddedRedis, signals <-chan os.Signal) error {
	group, ctx := errgroup.WithContext(ctx)
	ground, endGround := context.WithCancel(ctx)
	defer endGround()
	work, endWork := context.WithCancel(ctx)
	defer endWork()
	worked := make(chan struct{})

	if embedded != nil {
		group.Go(func() error { return embedded.run(ground) })
	}
	group.Go(func() error { return ended(n.bus.Run(ground)) })
	group.Go(func() error { return ended(n.hub.Run(ground)) })
	group.Go(func() error { return ended(n.sockets.Run(ground)) })
	group.Go(func() error { return ended(n.reaper.Run(work)) })
	group.Go(func() error {
		defer close(worked)
		return ended(n.service.Run(work))
	})
	group.Go(func() error { return ended(n.http.Serve(listener)) })
	group.Go(func() error { return n.register(work, listener.Addr()) })
	group.Go(func() error {
		n.announce(ctx, listener.Addr())
		return nil
	})
	group.Go(func() error {
		defer endGround()
		select {
		case <-signals:
		case <-ctx.Done():
		}
		n.drain(ctx, signals)
		endWork()
		<-worked
		return n.http.Close()
	})
	err := group.Wait()
	n.logger.Info("stopped")
	return err
}

// announce tells where the node listens once it can run turns.
func (n *node) announce(ctx context.Context, addr net.Addr) {
	select {
	case <-n.service.Ready():
		n.logger.Info("listening", "addr", addr.String(), "node", n.service.Node(), "agent", n.config.Agent.Name)
	case <-ctx.Done():
	}
}

// ready implements the readiness check: load balancers look elsewhere while
// the node starts or drains. A Redis outage does not count, since every node has it.
func (n *node) ready() error {
	if n.draining.Load() {
		return errors.New("draining")
	}
	select {
	case <-n.service.Ready():
		return nil
	default:
		return errors.New("starting")
	}
}

// closeGrace is what sockets get beyond the drain timeout to say goodbye.
const closeGrace = 2 * time.Second

// drain refuses new turns, closes the sockets, and waits for running turns: at
// most drain.timeout, and no longer than to the next signal.
func (n *node) drain(ctx context.Context, signals <-chan os.Signal) {
	n.draining.Store(true)
	n.logger.Info("draining; signal again to end running turns now", "running_turns", n.service.RunningHere(), "timeout", n.config.Drain.Timeout)
	hurry, cancel := context.WithCancel(ctx)
	defer cancel()
	finished := make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() {
		select {
		case <-signals:
			n.logger.Info("ending running turns", "running_turns", n.service.RunningHere())
			cancel()
		case <-finished:
		}
	})
	var both sync.WaitGroup
	both.Go(func() {
		waiting, cancel := context.WithTimeout(hurry, n.config.Drain.Timeout)
		defer cancel()
		n.tell("drain turns", n.service.Drain(waiting))
	})
	both.Go(func() {
		spread := min(n.config.Drain.CloseSpread, n.config.Drain.Timeout)
		closing, cancel := context.WithTimeout(hurry, spread+closeGrace)
		defer cancel()
		n.tell("close sockets", n.sockets.Shutdown(closing, spread))
	})
	both.Wait()
	close(finished)
	parts.Wait()
}

// tell logs what did not end in time; it is not worth failing over.
func (n *node) tell(what string, err error) {
	if err != nil {
		n.logger.Warn("not finished in time", "what", what, "error", err)
	}
}

// ended drops the errors that only say that a part was told to stop.
func ended(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
