package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"
)

// run serves until a signal came and the node has drained, or until a part
// failed. The HTTP server and the embedded Redis outlive the node's turns.
func (n *node) run(ctx context.Context, listener net.Listener, inside *embeddedRedis, signals <-chan os.Signal) error {
	group, failed := errgroup.WithContext(ctx)
	ground, endGround := context.WithCancel(failed)
	defer endGround()
	running, stop := context.WithCancel(failed)
	defer stop()
	stopped := make(chan struct{})

	if inside != nil {
		group.Go(func() error { return inside.run(ground) })
	}
	if n.keys != nil {
		group.Go(func() error { return n.keys.Run(ground) })
	}
	group.Go(func() error {
		if err := n.serveHTTP(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	if n.cert != nil {
		group.Go(func() error { return n.cert.run(ground) })
	}
	group.Go(func() error {
		n.announce(running, listener.Addr())
		return nil
	})
	group.Go(func() error {
		n.obey(failed, signals, stop, stopped)
		return nil
	})
	group.Go(func() error {
		defer endGround()
		defer close(stopped)
		return errors.Join(n.Run(running), n.http.Close())
	})
	err := group.Wait()
	n.logger.Info("stopped")
	return err
}

// serveHTTP serves until the server is closed; with TLS it speaks HTTP/2 too.
func (n *node) serveHTTP(listener net.Listener) error {
	if n.cert == nil {
		return n.http.Serve(listener)
	}
	n.http.TLSConfig = n.cert.config()
	return n.http.ServeTLS(listener, "", "")
}

// announce tells where the node listens once it can run turns.
func (n *node) announce(ctx context.Context, addr net.Addr) {
	select {
	case <-n.Ready():
		n.logger.Info("listening", "addr", addr.String(), "node", n.Sessions().Node(), "agent", n.config.Agent.Name)
	case <-ctx.Done():
	}
}

// obey drains the node with the first signal and hurries it with the second one;
// when something else has failed there is nothing to wait for.
func (n *node) obey(failed context.Context, signals <-chan os.Signal, stop context.CancelFunc, stopped <-chan struct{}) {
	select {
	case <-signals:
	case <-failed.Done():
		n.Hurry()
	}
	n.logger.Info("draining; signal again to end running turns now", "running_turns", n.Sessions().RunningHere(), "timeout", n.config.Drain.Timeout)
	stop()
	select {
	case <-signals:
		n.logger.Info("ending running turns", "running_turns", n.Sessions().RunningHere())
		n.Hurry()
	case <-failed.Done():
		n.Hurry()
	case <-stopped:
	}
}
