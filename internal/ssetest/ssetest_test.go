package ssetest_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"turnlog/internal/ssetest"
)

func TestStreamsAreReadAsTheStandardSays(t *testing.T) {
	r := ssetest.NewReader(strings.NewReader("\ufeffretry: 1500\n\n: comment\r\nid: e:1\rdata:a\ndata:  b\n\nevent: ping\ndata\n\ndata: x\nid\n\ndata: lost"), "e:0")
	for _, want := range []ssetest.Event{
		{Type: "message", Data: "a\n b", LastEventID: "e:1", ID: true},
		{Type: "ping", Data: "", LastEventID: "e:1"},
		{Type: "message", Data: "x", LastEventID: "", ID: true},
	} {
		if got, err := r.Next(); err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	}
	if _, err := r.Next(); !errors.Is(err, ssetest.ErrCut) || r.Retry != 1500*time.Millisecond {
		t.Fatalf("end %v, retry %v", err, r.Retry)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("end %v", err)
	}
}

func TestWhatBrowsersPassOverIsRefused(t *testing.T) {
	for _, text := range []string{"datum: x\n\n", "id: 1\n\n", "retry: 1s\n\n", "id: a\x00b\ndata: x\n\n", "data: \xff\n\n"} {
		if e, err := ssetest.NewReader(strings.NewReader(text), "").Next(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %+v, %v", text, e, err)
		}
	}
}
