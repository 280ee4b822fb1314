package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/client"
)

// deadSocket accepts writes and says nothing until it is closed.
type deadSocket struct{ closed chan struct{} }

func newDeadSocket() *deadSocket { return &deadSocket{closed: make(chan struct{})} }

func (s *deadSocket) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-s.closed:
		return nil, errors.New("closed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
func (s *deadSocket) Write(context.Context, []byte) error { return nil }
func (s *deadSocket) Close(int, string) error             { return s.CloseNow() }
func (s *deadSocket) CloseNow() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func TestBackoffIsImmediateThenJitteredAndCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		o := client.WithDial(client.Options{MaxDelay: 4 * time.Second}, func(context.Context) (client.Socket, error) {
			at = append(at, time.Since(begin))
			return nil, errors.New("refused")
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		c, err := client.New("ws://x", o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		if at[1] != 0 {
			t.Errorf("first retry after %v, want at once", at[1])
		}
		ceilings := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}
		for i := 2; i < len(at); i++ {
			ceiling := ceilings[min(i-2, len(ceilings)-1)]
			if wait := at[i] - at[i-1]; wait >= ceiling {
				t.Errorf("wait %d is %v, want below %v", i, wait, ceiling)
			}
		}
		// Half of 4 s on average: far from both a hot loop and a fixed wait.
		if n := len(at); n < 200 || n > 500 {
			t.Errorf("%d attempts in 10 minutes, want about 300", n)
		}
	})
}

func TestASilentConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begin := time.Now()
		o := client.WithDial(client.Options{}, func(context.Context) (client.Socket, error) {
			at = append(at, time.Since(begin))
			return newDeadSocket(), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		c, err := client.New("ws://x", o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
		if len(at) != 3 || at[1] != time.Minute || at[2] != 2*time.Minute {
			t.Errorf("connected at %v, want every minute", at)
		}
	})
}

// TestAServerThatOnlyAnswersIsAsked: the client pings before it takes a connection for dead.
func TestAServerThatOnlyAnswersIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		lab(t, 10*time.Minute, client.Options{}, func(context.Context) (client.Socket, error) {
			dials++
			s := newLabSocket(func(s *labSocket, m object) {
				if m["type"] == "ping" {
					s.say(object{"type": "pong"})
				}
			})
			s.welcome(time.Now())
			return s, nil
		}, nil)
		if dials != 1 {
			t.Errorf("%d connections, want 1", dials)
		}
	})
}

func TestAResumeThatIsNeverAnsweredCostsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		var servers sync.WaitGroup
		lab(t, time.Minute, client.Options{}, func(context.Context) (client.Socket, error) {
			at = append(at, time.Since(begin))
			s := newLabSocket(func(*labSocket, object) {})
			s.welcome(time.Now())
			s.heartbeat(&servers)
			return s, nil
		}, func(c *client.Client) {
			if err := c.Open("t", client.OpenOptions{}); err != nil {
				t.Error(err)
			}
		})
		servers.Wait()
		if len(at) != 2 || at[1] < 30*time.Second || at[1] > 46*time.Second {
			t.Errorf("connected at %v, want again after 30 s and a beat", at)
		}
	})
}

func TestServerCloseCodesDecideTheWait(t *testing.T) {
	for _, row := range []struct {
		name     string
		code     int
		min, max time.Duration
		fatal    error
	}{
		{"1000 at once", 1000, 0, 0, nil},
		{"1012 spreads", 1012, 0, time.Second, nil},
		{"1013 later", 1013, time.Second, 2 * time.Second, nil},
		{"4008 at once", 4008, 0, 0, nil},
		{"1008 is final", 1008, 0, 0, client.ErrUnauthorized},
		{"1009 is final", 1009, 0, 0, client.ErrTooLarge},
		{"4003 is final", 4003, 0, 0, client.ErrUnauthorized},
	} {
		t.Run(row.name, func(t *testing.T) {
			wait, fatal := client.WaitAfterClose(row.code)
			if row.fatal != nil {
				if !errors.Is(fatal, row.fatal) {
					t.Errorf("error %v, want %v", fatal, row.fatal)
				}
				return
			}
			if fatal != nil || wait < row.min || wait > row.max {
				t.Errorf("wait %v, %v; want between %v and %v", wait, fatal, row.min, row.max)
			}
		})
	}
}

func TestOptionsAndAddressesAreChecked(t *testing.T) {
	for name, f := range map[string]func() error{
		"scheme":    func() error { _, err := client.New("ftp://x", client.Options{}); return err },
		"no host":   func() error { _, err := client.New("ws://", client.Options{}); return err },
		"http url":  func() error { _, err := client.New("ws://x", client.Options{HTTPURL: "x"}); return err },
		"silence":   func() error { _, err := client.New("ws://x", client.Options{Silence: -1}); return err },
		"tool name": func() error { _, err := client.New("ws://x", client.Options{Tools: []client.Tool{{}}}); return err },
	} {
		if f() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, row := range []struct{ url, user, http, socket, api string }{
		{"ws://h:1/ws", "", "", "ws://h:1/ws?batch=1", "http://h:1"},
		{"http://h", "ann", "", "ws://h/ws?batch=1&user=ann", "http://h"},
		{"wss://h/chat/ws?batch=0", "", "", "wss://h/chat/ws?batch=0", "https://h/chat"},
		{"https://h/a%2Fb/ws", "", "", "wss://h/a%2Fb/ws?batch=1", "https://h/a%2Fb"},
		{"ws://h/socket", "", "https://api.h/x/", "ws://h/socket?batch=1", "https://api.h/x"},
	} {
		socket, api, err := client.Addresses(row.url, client.Options{User: row.user, HTTPURL: row.http})
		if err != nil || socket != row.socket || api != row.api {
			t.Errorf("%s: %s and %s, %v; want %s and %s", row.url, socket, api, err, row.socket, row.api)
		}
	}
}
