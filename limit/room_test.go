package limit_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"turnlog/limit"
)

const kib = 1 << 10

func TestB104_WhatArrivesHasRoom(t *testing.T) {
	r := limit.NewRoom(400 * kib)
	add := func(p *limit.Place, bytes int, want error) {
		t.Helper()
		if err := p.Add(bytes); !errors.Is(err, want) {
			t.Fatalf("%d bytes: %v, want %v", bytes, err, want)
		}
	}
	ann := r.Place("ann")
	add(ann, limit.Free, nil)
	if got := r.Taken(); got != 0 {
		t.Fatalf("%d bytes are taken by what is small", got)
	}
	add(ann, 60*kib, nil)
	more := r.Place("ann")
	add(more, limit.Free+40*kib, nil)
	add(more, 1, limit.ErrUserRoom)
	for _, name := range []string{"bob", "cid", "dan"} {
		p := r.Place(name)
		add(p, limit.Free+99*kib, nil)
	}
	if got := r.Taken(); got != 397*kib {
		t.Fatalf("%d KiB are taken", got/kib)
	}
	eve := r.Place("eve")
	add(eve, limit.Free+3*kib+1, limit.ErrRoom)
	small := r.Place("eve")
	add(small, limit.Free, nil) // always
	ann.Leave()
	eve.Leave()
	add(eve, limit.Free+kib, nil)
	more.Leave()
	more.Leave() // again is harmless
	add(ann, limit.Free+99*kib, nil)
}

func TestARoomIsEmptyInTheEnd(t *testing.T) {
	r := limit.NewRoom(1 << 20)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			p := r.Place(fmt.Sprint(i % 7))
			for n := range 500 {
				if p.Add(n*37) != nil || n%9 == 0 {
					p.Leave()
				}
			}
			p.Leave()
		})
	}
	all.Wait()
	if got := r.Taken(); got != 0 {
		t.Errorf("%d bytes are still taken", got)
	}
}

func TestOnlyAFewAreDecodedAtOnce(t *testing.T) {
	r := limit.NewRoom(1 << 30)
	var now, most atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			p := r.Place(fmt.Sprint(i))
			if err := p.Add(limit.Free + 1); err != nil {
				t.Error(err)
			}
			defer p.Leave()
			defer p.Work()()
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			runtime.Gosched()
			now.Add(-1)
		})
	}
	all.Wait()
	if got, limit := most.Load(), int64(max(1, runtime.GOMAXPROCS(0)/2)); got > limit {
		t.Errorf("%d at once, want at most %d", got, limit)
	}
	r.Place("small").Work()() // does not wait, and takes nothing
}

func TestABodyIsCountedWhileItIsRead(t *testing.T) {
	r := limit.NewRoom(400 * kib)
	body := func(size int) limit.Body {
		return limit.Body{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", size))), Place: r.Place("ann")}
	}
	fits := body(100 * kib)
	if text, err := io.ReadAll(fits); err != nil || len(text) != 100*kib {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if _, err := io.ReadAll(body(100 * kib)); !errors.Is(err, limit.ErrUserRoom) {
		t.Fatalf("a second one: %v", err)
	}
	fits.Leave()
	none := limit.Body{ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20))), Place: (*limit.Room)(nil).Place("ann")}
	if text, err := io.ReadAll(none); err != nil || len(text) != 1<<20 {
		t.Fatalf("%d bytes without a room, %v", len(text), err)
	}
}
