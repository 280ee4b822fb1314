package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"turnlog/eventlog"
	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
	"turnlog/reaper"
	"turnlog/session"
	"turnlog/wsapi"
)

// metrics implements the seams of all packages with one registry. Nothing is
// observed per frame: histograms are fed per append call and per turn, counters
// per message of a socket.
type metrics struct {
	registry *prometheus.Registry

	log     logMetrics
	hub     hubMetrics
	session sessionMetrics
	reaper  reaperMetrics
	sockets socketMetrics
	auth    authMetrics
}

var (
	_ eventlog.Metrics    = logMetrics{}
	_ eventlog.HubMetrics = hubMetrics{}
	_ session.Metrics     = sessionMetrics{}
	_ reaper.Metrics      = reaperMetrics{}
	_ wsapi.Metrics       = socketMetrics{}
)

// newMetrics makes everything that needs no running node.
func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	parts := maker{m.registry}
	m.log = newLogMetrics(parts)
	m.hub = newHubMetrics(parts)
	m.session = newSessionMetrics(parts)
	m.reaper = newReaperMetrics(parts)
	m.sockets = newSocketMetrics(parts)
	m.auth = newAuthMetrics(parts)
	return m
}

// handler serves /metrics. One scrape at a time is enough for everybody.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// maker registers what it makes.
type maker struct{ registry *prometheus.Registry }

func (m maker) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// counters makes a counter for each value of one label; those that are known
// are there from the start, so that rates have something to begin with.
func (m maker) counters(name, help, label string, known ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range known {
		c.WithLabelValues(value)
	}
	m.registry.MustRegister(c)
	return c
}

func (m maker) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

type logMetrics struct {
	frames  prometheus.Histogram
	seconds prometheus.Histogram
	bytes   prometheus.Counter
	failed  *prometheus.CounterVec
	repairs *prometheus.CounterVec
	fenced  prometheus.Counter
}

func newLogMetrics(m maker) logMetrics {
	return logMetrics{
		frames:  m.histogram("turnlog_append_frames", "Frames written by one append call; the sum is all frames, the count all calls.", prometheus.ExponentialBuckets(1, 2, 9)),
		seconds: m.histogram("turnlog_append_seconds", "Time from sending an append to its reply, retries included.", []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30}),
		bytes:   m.counter("turnlog_append_bytes_total", "Bytes of frames written."),
		failed:  m.counters("turnlog_redis_failures_total", "Calls to Redis that failed, by operation; appends are retried and not counted here.", "op"),
		repairs: m.counters("turnlog_repairs_total", "Repairs of what a failover of Redis lost: tail = written again under the same numbers, epoch = numbers were lost.", "how", "tail", "epoch"),
		fenced:  m.counter("turnlog_fenced_writers_total", "Running turns whose writer found that the turn is no longer this node's: stopped, superseded, reaped or deleted by others."),
	}
}

func (l logMetrics) Appended(frames, bytes int, took time.Duration) {
	l.frames.Observe(float64(frames))
	l.seconds.Observe(took.Seconds())
	l.bytes.Add(float64(bytes))
}
func (l logMetrics) CommandFailed(op string) { l.failed.WithLabelValues(op).Inc() }
func (l logMetrics) Repaired(how string)     { l.repairs.WithLabelValues(how).Inc() }
func (l logMetrics) Fenced()                 { l.fenced.Inc() }

type hubMetrics struct{ missed, pages, frames, headers prometheus.Counter }

func newHubMetrics(m maker) hubMetrics {
	return hubMetrics{
		missed:  m.counter("turnlog_live_missed_total", "Times that live messages of a followed thread were lost and noticed by comparing with the log."),
		pages:   m.counter("turnlog_replay_pages_total", "Pages of frames read from the log for viewers that were behind."),
		frames:  m.counter("turnlog_replay_page_frames_total", "Frames in these pages."),
		headers: m.counter("turnlog_inband_headers_total", "Viewers that got a new header in-band: the log was trimmed past them, or has a new epoch."),
	}
}

func (h hubMetrics) HubMissed() { h.missed.Inc() }
func (h hubMetrics) HubPage(n int) {
	h.pages.Inc()
	h.frames.Add(float64(n))
}
func (h hubMetrics) HubHeader() { h.headers.Inc() }

// outcomes are how turns may end.
var outcomes = []string{
	string(eventlog.OutcomeCompleted), string(eventlog.OutcomeFailed), string(eventlog.OutcomeStopped), string(eventlog.OutcomeSuperseded), string(eventlog.OutcomeDetached),
	string(eventlog.OutcomeOwnerLost), string(eventlog.OutcomeStalled), string(eventlog.OutcomeTimedOut), string(eventlog.OutcomeShutdown),
}

type sessionMetrics struct {
	started, restarted, abandoned prometheus.Counter
	finished                      *prometheus.CounterVec
	seconds                       prometheus.Histogram
}

func newSessionMetrics(m maker) sessionMetrics {
	return sessionMetrics{
		started:   m.counter("turnlog_turns_started_total", "Attempts of turns begun on this node."),
		restarted: m.counter("turnlog_turns_restarted_total", "Of these, attempts after the first one: their node was lost."),
		finished:  m.counters("turnlog_turns_finished_total", "Turns of this node that ended here, by outcome.", "outcome", outcomes...),
		seconds:   m.histogram("turnlog_turn_seconds", "How long these turns ran on this node.", []float64{.1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400}),
		abandoned: m.counter("turnlog_agents_abandoned_total", "Agents that went on for longer than turn.stop_timeout after their turn had ended."),
	}
}

func (s sessionMetrics) TurnStarted(attempt int) {
	s.started.Inc()
	if attempt > 1 {
		s.restarted.Inc()
	}
}

func (s sessionMetrics) TurnFinished(outcome eventlog.Outcome, took time.Duration) {
	s.finished.WithLabelValues(string(outcome)).Inc()
	s.seconds.Observe(took.Seconds())
}
func (s sessionMetrics) AgentAbandoned() { s.abandoned.Inc() }

type reaperMetrics struct {
	buried, expired prometheus.Counter
	reaped          *prometheus.CounterVec
}

func newReaperMetrics(m maker) reaperMetrics {
	return reaperMetrics{
		buried:  m.counter("turnlog_nodes_buried_total", "Dead nodes that this node has buried."),
		reaped:  m.counters("turnlog_reaped_total", "Turns that this node's reaper ended, by outcome.", "outcome", outcomes...),
		expired: m.counter("turnlog_requests_expired_total", "Tool calls whose turn.tool_timeout passed."),
	}
}

func (r reaperMetrics) NodeBuried()                   { r.buried.Inc() }
func (r reaperMetrics) TurnReaped(o eventlog.Outcome) { r.reaped.WithLabelValues(string(o)).Inc() }
func (r reaperMetrics) RequestExpired()               { r.expired.Inc() }

type socketMetrics struct {
	opened, slow                   prometheus.Counter
	sent, sentBytes, got, gotBytes prometheus.Counter
	closed, replays, refusals      *prometheus.CounterVec
}

// closeSlow is the close code of clients that are too slow to keep.
const closeSlow = 4008

func newSocketMetrics(m maker) socketMetrics {
	return socketMetrics{
		opened:    m.counter("turnlog_connections_opened_total", "WebSocket connections taken."),
		closed:    m.counters("turnlog_connections_closed_total", "Connections that ended, by close code; 0: the network or the client ended it without one.", "code", "0", "1012", strconv.Itoa(closeSlow)),
		slow:      m.counter("turnlog_slow_viewers_total", "Connections closed because the client took nothing for too long (4008)."),
		sent:      m.counter("turnlog_sent_messages_total", "WebSocket messages sent."),
		sentBytes: m.counter("turnlog_sent_bytes_total", "Bytes of these."),
		got:       m.counter("turnlog_received_messages_total", "WebSocket messages received."),
		gotBytes:  m.counter("turnlog_received_bytes_total", "Bytes of these."),
		replays:   m.counters("turnlog_replays_total", "Headers that viewers were given: complete, incomplete, or unknown (nothing to replay).", "kind", "complete", "incomplete", "unknown"),
		refusals: m.counters("turnlog_refusals_total", "Handshakes, messages, commands and HTTP requests that were refused, by code (docs/protocol.md, section 2).", "code",
			session.CodeBusy, session.CodeConflict, session.CodePolicyConflict, session.CodeQuota, session.CodeDraining, session.CodeUnavailable,
			session.CodeTooLarge, session.CodeRateLimited, session.CodeUnknownAgent, session.CodeInvalid,
			"too_many_connections", "too_many_connections_of_user", problem.CodeRoom, problem.CodeUserRoom, codeSockets, "flood", "slow_sender", edge.CodeOrigin, edge.CodeHost),
	}
}

func (s socketMetrics) Connected() { s.opened.Inc() }
func (s socketMetrics) Disconnected(code int) {
	s.closed.WithLabelValues(strconv.Itoa(code)).Inc()
	if code == closeSlow {
		s.slow.Inc()
	}
}

func (s socketMetrics) Sent(messages, bytes int) {
	s.sent.Add(float64(messages))
	s.sentBytes.Add(float64(bytes))
}

func (s socketMetrics) Received(bytes int) {
	s.got.Inc()
	s.gotBytes.Add(float64(bytes))
}
func (s socketMetrics) Replayed(kind string) { s.replays.WithLabelValues(kind).Inc() }
func (s socketMetrics) Refused(code string)  { s.refusals.WithLabelValues(code).Inc() }
