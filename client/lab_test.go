package client_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"turnlog/client"
)

// labSocket is a connection in memory, for clocks that a test owns. It welcomes, and
// answers what its test wants answered.
type labSocket struct {
	in     chan []byte
	closed chan struct{}
	once   sync.Once
	err    error
	hear   func(s *labSocket, m object)
}

func newLabSocket(hear func(s *labSocket, m object)) *labSocket {
	s := &labSocket{in: make(chan []byte, 64), closed: make(chan struct{}), hear: hear}
	return s
}

func (s *labSocket) say(m object) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	s.in <- b
}

func (s *labSocket) welcome(clock time.Time) {
	s.say(object{"type": "welcome", "protocol": 1, "node": "n1", "server_time": clock.Format(time.RFC3339Nano)})
}

// end closes the server's side.
func (s *labSocket) end(err error) { s.once.Do(func() { s.err = err; close(s.closed) }) }

func (s *labSocket) Read(context.Context) ([]byte, error) {
	select {
	case b := <-s.in:
		return b, nil
	case <-s.closed:
		return nil, s.err
	}
}

func (s *labSocket) Write(_ context.Context, b []byte) error {
	var m object
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	s.hear(s, m)
	return nil
}

func (s *labSocket) Close(int, string) error { return s.CloseNow() }
func (s *labSocket) CloseNow() error         { s.end(errors.New("closed")); return nil }

// heartbeat is a healthy server, until its socket is closed.
func (s *labSocket) heartbeat(wg *sync.WaitGroup) {
	wg.Go(func() {
		tick := time.NewTicker(25 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.say(object{"type": "ping"})
			case <-s.closed:
				return
			}
		}
	})
}

// jwt is a token that nobody checks.
func jwt(expires time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"ann","exp":%d}`, expires.Unix()))
	return "eyJ." + claims + ".sig"
}

// lab runs a client for d on the bubble's clock, and waits for everything.
func lab(t *testing.T, d time.Duration, o client.Options, dial func(context.Context) (client.Socket, error), meanwhile func(*client.Client)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c, err := client.New("ws://x", client.WithDial(o, dial))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	if meanwhile != nil {
		wg.Go(func() { meanwhile(c) })
	}
	if err := c.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
	wg.Wait()
}
