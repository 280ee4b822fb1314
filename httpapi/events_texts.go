package httpapi

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"turnlog/eventlog"
	"turnlog/frame"
)

// eventStream is the media type of event streams.
const eventStream = "text/event-stream"

// eventHeaders are those of a stream: nobody may keep it or hold it back.
func eventHeaders(h http.Header) {
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
}

func (s *stream) welcome() []byte {
	b := frame.AppendString([]byte(`{"type":"welcome","protocol":1,"node":`), s.srv.sessions.Node())
	b = frame.AppendString(append(b, `,"connection":`...), s.id)
	b = append(b, `,"server_time":"`...)
	return append(time.Now().UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z"), `"}`...)
}

// goodbye is the data of an event that ends the stream.
func (s *stream) goodbye(typ string) []byte {
	b := append(append([]byte(`{"type":"`), typ...), `","thread_id":`...)
	return append(frame.AppendString(b, s.desk.Thread.ID), '}')
}

// ping is the data of a heartbeat.
func (p *page) ping() {
	p.event("ping", append(strconv.AppendInt([]byte(`{"type":"ping","ts":`), time.Now().UnixMilli(), 10), '}'))
}

// jitter spreads a duration by a share of itself to both sides.
func jitter(d time.Duration, share float64) time.Duration {
	return time.Duration(float64(d) * (1 + share*(2*rand.Float64()-1)))
}

// replayKind names a header for the metrics.
func replayKind(h *eventlog.Header) string {
	switch {
	case h.Status == eventlog.StatusUnknown:
		return "unknown"
	case h.ReplayIncomplete:
		return "incomplete"
	}
	return "complete"
}
