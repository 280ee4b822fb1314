package client_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/client"
)

func TestWakeEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		dial := func(context.Context) (client.Socket, error) {
			at = append(at, time.Since(begin))
			return nil, errors.New("no network")
		}
		o := client.Options{MaxDelay: 24 * time.Hour}
		lab(t, time.Hour+time.Minute, o, dial, func(c *client.Client) {
			<-time.After(time.Hour)
			synctest.Wait()
			before := len(at)
			for range 5 {
				c.Wake()
				synctest.Wait()
			}
			if got := len(at) - before; got != 5 {
				t.Errorf("%d attempts for 5 wakes", got)
			}
			if last := at[len(at)-1]; last != time.Hour {
				t.Errorf("the last attempt at %v", last)
			}
			c.Drop(time.Hour) // asked to stay away
			c.Wake()
			synctest.Wait()
			if got := len(at) - before; got != 5 {
				t.Errorf("came back at %v", at[len(at)-1])
			}
		})
	})
}

func TestWakeMakesSureThatAConnectionLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		var dead atomic.Bool
		dial := func(context.Context) (client.Socket, error) {
			at = append(at, time.Since(begin))
			s := newLabSocket(func(s *labSocket, m object) {
				if m["type"] == "ping" && !dead.Load() {
					s.say(object{"type": "pong"})
				}
			})
			s.welcome(time.Now())
			return s, nil
		}
		lab(t, time.Minute, client.Options{}, dial, func(c *client.Client) {
			<-time.After(10 * time.Second)
			c.Wake()
			<-time.After(10 * time.Second)
			synctest.Wait()
			if len(at) != 1 {
				t.Errorf("a connection that answers was replaced: %v", at)
			}
			dead.Store(true)
			c.Wake()
		})
		if want := []time.Duration{0, 25 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("connected at %v, want %v: silent for 5 s", at, want)
		}
	})
}
