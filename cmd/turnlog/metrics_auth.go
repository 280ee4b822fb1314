package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"turnlog/identity"
)

type authMetrics struct{ refused, fetched *prometheus.CounterVec }

var _ identity.Metrics = authMetrics{}

func newAuthMetrics(m maker) authMetrics {
	return authMetrics{
		refused: m.counters("turnlog_auth_refused_total", "Requests and tokens that were not believed, by the check that failed; clients are only told that they are not.", "reason",
			identity.Reasons()...),
		fetched: m.counters("turnlog_auth_key_fetches_total", "Fetches of auth.jwks_url.", "result", "ok", "failed"),
	}
}

func (a authMetrics) Refused(reason string) { a.refused.WithLabelValues(reason).Inc() }
func (a authMetrics) Fetched(result string) { a.fetched.WithLabelValues(result).Inc() }
