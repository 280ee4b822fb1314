package httpapi

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/problem"
	"turnlog/internal/ssetest"
	"turnlog/line"
)

func TestEventsQuery(t *testing.T) {
	rows := []struct {
		name, query, resume string
		want                eventlog.Cursor
		wrong               string
	}{
		{name: "nothing", want: eventlog.Cursor{}},
		{name: "epoch and number", query: "after=e1:7", want: eventlog.Cursor{Epoch: "e1", LastSeq: 7}},
		{name: "number", query: "after=7", want: eventlog.Cursor{LastSeq: 7}},
		{name: "everything held", query: "full=1&after=7", want: eventlog.Cursor{LastSeq: 7, Full: true}},
		{name: "the header wins", query: "after=e1:7&full=1", resume: "e2:9", want: eventlog.Cursor{Epoch: "e2", LastSeq: 9}},
		{name: "an epoch with colons", query: "after=a:b:7", want: eventlog.Cursor{Epoch: "a:b", LastSeq: 7}},
		{name: "no number", query: "after=e1:", wrong: "after"},
		{name: "no epoch", query: "after=:7", wrong: "after"},
		{name: "negative", query: "after=-1", wrong: "after"},
		{name: "too large", query: "after=9223372036854775808", wrong: "after"},
		{name: "words", query: "after=x", wrong: "after"},
		{name: "bad header", resume: "x", wrong: lastEventID},
		{name: "full", query: "full=yes", wrong: "full"},
		{name: "follow", query: "follow=me", wrong: "follow"},
		{name: "policy", query: "on_disconnect=never", wrong: "on_disconnect"},
		{name: "tools", query: "tools=a,,b", wrong: "tools"},
		{name: "many tools", query: "tools=a" + strings.Repeat(",a", mostTools), wrong: "tools"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/?"+row.query, nil)
			if row.resume != "" {
				r.Header.Set(lastEventID, row.resume)
			}
			q, err := parseEventsQuery(r)
			var p *problem.Problem
			switch {
			case row.wrong == "" && (err != nil || q.cursor != row.want || q.resumes != (row.resume != "")):
				t.Fatalf("%+v, %v", q, err)
			case row.wrong != "" && (!errors.As(err, &p) || p.Status != 400 || p.Fields[0].Name != row.wrong):
				t.Fatalf("%+v, %v", q, err)
			}
		})
	}
}

func TestTools(t *testing.T) {
	for list, want := range map[string]string{"": "none", "*": "both", "look": "look", "other,look": "look", "look,walk": "both"} {
		tools, err := parseTools(list)
		got := "none"
		switch look, walk := tools.has("look"), tools.has("walk"); {
		case look && walk:
			got = "both"
		case look:
			got = "look"
		}
		if err != nil || got != want || tools.any() != (list != "") {
			t.Errorf("%q: %s, %v", list, got, err)
		}
	}
}

func FuzzPosition(f *testing.F) {
	for _, seed := range []string{"", "0", "7", "e:7", "a:b:7", ":", "e:", ":1", "e:-1", "e:+1", "e: 1", "\x00:1", "e:99999999999999999999", "\xff:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		epoch, seq, ok := parsePosition(text)
		if !ok {
			if epoch != "" || seq != 0 {
				t.Fatalf("%q: refused, but %q %d", text, epoch, seq)
			}
			return
		}
		if seq < 0 || len(epoch) > longestEpoch || strings.ContainsAny(epoch, "\r\n\x00") {
			t.Fatalf("%q: %q %d", text, epoch, seq)
		}
		again, n, ok := parsePosition(string(appendPosition(nil, epoch, seq)))
		if !ok || again != epoch || n != seq {
			t.Fatalf("%q: %q %d, then %q %d", text, epoch, seq, again, n)
		}
	})
}

func FuzzEventData(f *testing.F) {
	for _, seed := range []string{"{}", "{\n\"a\":\r\n1\r}", "\n", "\r\r\n\n", "", " x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p page
		p.lines = append(p.lines, line.Line{Shared: &eventlog.Delivered{Seq: 7, Epoch: "e", JSON: []byte(text)}})
		p.frames()
		r := ssetest.NewReader(strings.NewReader(string(p.text)), "")
		e, err := r.Next()
		if err != nil {
			if strings.ToValidUTF8(text, "") != text {
				return
			}
			t.Fatalf("%q: %v", text, err)
		}
		// Line breaks are between tokens: LF says the same there. Only CRLF is two fields, which it may be.
		want := strings.ReplaceAll(text, "\r", "\n")
		if e.Data != want || e.LastEventID != "e:7" || e.Type != "message" {
			t.Fatalf("%q became %+v", text, e)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("%q: then %v", text, err)
		}
	})
}

func TestWritingFramesAllocatesNothingToSpeakOf(t *testing.T) {
	frames := make([]*eventlog.Delivered, 64)
	for i := range frames {
		frames[i] = &eventlog.Delivered{Seq: int64(i), Epoch: "k3Jq", JSON: []byte(`{"type":"chunk","content":"some words of an answer that goes on"}`)}
	}
	p := new(page)
	round := func() {
		for _, fr := range frames {
			p.lines = append(p.lines, line.Line{Shared: fr})
		}
		p.frames()
		p.text = p.text[:0]
	}
	round()
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Fatalf("%v allocations for 64 frames", n)
	}
}

func TestHeartbeatsComeEvery15To25Seconds(t *testing.T) {
	every := EventsOptions{}.withDefaults().PingEvery
	for range 1000 {
		if d := jitter(every, 0.25); d < 15*time.Second || d > 25*time.Second {
			t.Fatalf("a heartbeat after %v", d)
		}
	}
}

func BenchmarkEventPage(b *testing.B) {
	frames := make([]*eventlog.Delivered, roundFrames)
	for i := range frames {
		frames[i] = &eventlog.Delivered{Seq: int64(i), Epoch: "k3Jq", JSON: []byte(`{"type":"chunk","content":"some words of an answer that goes on"}`)}
	}
	p := new(page)
	b.ReportAllocs()
	for b.Loop() {
		for _, fr := range frames {
			p.lines = append(p.lines, line.Line{Shared: fr})
		}
		p.frames()
		p.text = p.text[:0]
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/roundFrames, "ns/frame")
}
