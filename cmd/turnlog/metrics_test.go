package main

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"turnlog/eventlog"
)

// scrape reads /metrics: families with their types, and samples with their values.
func (n *testNode) scrape() (families map[string]string, samples map[string]float64) {
	n.t.Helper()
	status, body := n.get("/metrics")
	if status != 200 {
		n.t.Fatalf("/metrics answers %d: %s", status, body)
	}
	families, samples = map[string]string{}, map[string]float64{}
	for line := range strings.Lines(body) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE turnlog_"):
			families[fields[2]] = fields[3]
		case strings.HasPrefix(line, "turnlog_"):
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				n.t.Fatalf("%q: %v", line, err)
			}
			samples[name] = v
		}
	}
	return families, samples
}

const metricsBegin, metricsEnd = "<!-- metrics -->\n", "<!-- end of metrics -->"

// documentedMetrics reads the table in docs/operations.md: name -> type, label.
func documentedMetrics(t *testing.T) map[string][2]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), metricsBegin)
	table, _, foundEnd := strings.Cut(rest, metricsEnd)
	if !found || !foundEnd {
		t.Fatal("docs/operations.md has no metrics table")
	}
	documented := map[string][2]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(turnlog_[a-z_]+)(?:\\{([a-z_]+)\\})?` \\| (\\w+) \\|").FindAllStringSubmatch(table, -1) {
		documented[row[1]] = [2]string{row[3], row[2]}
	}
	return documented
}

func TestMetricsTableIsWhatARunningNodeServes(t *testing.T) {
	documented := documentedMetrics(t)
	n := startNode(t)
	var families map[string]string
	var samples map[string]float64
	await(t, "every documented metric", func() bool {
		families, samples = n.scrape()
		return len(families) >= len(documented)-1 // Redis failures begin with the first one
	})
	for name, kind := range families {
		if documented[name][0] != kind {
			t.Errorf("%s is a %s, the table says %q", name, kind, documented[name][0])
		}
	}
	label := regexp.MustCompile(`^(turnlog_[a-z_]+?)(?:_bucket|_sum|_count)?\{([a-z_]+)=`)
	for sample := range samples {
		if found := label.FindStringSubmatch(sample); found != nil && found[2] != "le" && documented[found[1]][1] != found[2] {
			t.Errorf("%s has the label %s, the table says %q", found[1], found[2], documented[found[1]][1])
		}
	}
	for name := range documented {
		if families[name] == "" && name != "turnlog_redis_failures_total" {
			t.Errorf("the node does not serve %s", name)
		}
	}
}

// TestMetricsCountWhatHappens runs turns of two nodes and reads both.
func TestMetricsCountWhatHappens(t *testing.T) {
	url := "redis://" + startRedis(t)
	a, b := startNode(t, "--redis", url), startNode(t, "--redis", url)
	c := a.dial()
	c.send(chatMessage("t1", 3, 0))
	c.until("the end", ofType("turn_finished"))
	c.send(`{"command":"chat_message","data":{"thread_id":"t2","content":"x","on_disconnect":"preserve","demo":{"frames":1,"approval":{"tool_name":"x","at":1}}}}`)
	c.until("the approval", ofType("tool_approval_request"))
	c.send(`{"command":"follow","data":{"thread_id":"t3","on_disconnect":"cancel","preserve_running_on_disconnect":true}}`)
	c.until("the refusal", func(m map[string]any) bool { return m["code"] == "policy_conflict" })
	d := b.dial()
	d.send(`{"command":"resume_chat","data":{"thread_id":"t1"}}`)
	d.until("the header", ofType("chat_resumed"))
	d.send(`{"command":"resume_chat","data":{"thread_id":"never"}}`)
	d.until("the header", ofType("chat_resumed"))

	want := func(n *testNode, what string, wanted map[string]float64) {
		t.Helper()
		var got map[string]float64
		defer func() {
			for name, value := range wanted {
				if got[name] != value {
					t.Logf("%s is %v, want %v", name, got[name], value)
				}
			}
		}()
		await(t, what, func() bool {
			_, got = n.scrape()
			for name, value := range wanted {
				if v, there := got[name]; !there || v != value {
					return false
				}
			}
			return true
		})
	}
	want(a, "the owner's metrics", map[string]float64{
		"turnlog_turns_started_total":                        2,
		`turnlog_turns_finished_total{outcome="completed"}`:  1,
		`turnlog_turns_running{policy="preserve"}`:           1,
		`turnlog_turns_running{policy="grace"}`:              0,
		`turnlog_turns_detached{policy="preserve"}`:          0,
		`turnlog_refusals_total{code="policy_conflict"}`:     1,
		"turnlog_viewers":                                    2,
		"turnlog_followed_threads":                           2,
		"turnlog_connections":                                1,
		"turnlog_turn_seconds_count":                         1,
		"turnlog_slow_viewers_total":                         0,
		`turnlog_turns_finished_total{outcome="owner_lost"}`: 0,
		`turnlog_reaped_total{outcome="detached"}`:           0,
	})
	want(b, "the other node's metrics", map[string]float64{
		"turnlog_turns_started_total":              0,
		`turnlog_replays_total{kind="incomplete"}`: 1, // a fresh client
		`turnlog_replays_total{kind="unknown"}`:    1,
		"turnlog_viewers":                          2,
	})
	_, samples := a.scrape()
	frames := samples["turnlog_append_frames_sum"]
	if calls := samples["turnlog_append_frames_count"]; frames < 4 || calls < 1 || samples["turnlog_append_seconds_count"] != calls || samples["turnlog_append_bytes_total"] < 4*20 {
		t.Errorf("appends: %v frames in %v calls, %v bytes", frames, calls, samples["turnlog_append_bytes_total"])
	}
	if samples["turnlog_sent_messages_total"] < 8 || samples["turnlog_received_messages_total"] != 3 {
		t.Errorf("messages: %v sent, %v received", samples["turnlog_sent_messages_total"], samples["turnlog_received_messages_total"])
	}
	leaders := 0.0
	await(t, "one reaper leads", func() bool {
		_, ofA := a.scrape()
		_, ofB := b.scrape()
		leaders = ofA["turnlog_reaper_leads"] + ofB["turnlog_reaper_leads"]
		return leaders == 1
	})
	c.ws.Close(websocket.StatusNormalClosure, "")
	want(a, "the detached turn", map[string]float64{
		`turnlog_turns_detached{policy="preserve"}`: 1, "turnlog_viewers": 0, "turnlog_connections": 0,
	})
}

func TestTurnGaugesAreAbsentWhileRedisIsAway(t *testing.T) {
	calls := 0
	g := &turnGauges{tally: func() (map[eventlog.Policy]eventlog.Tally, error) {
		calls++
		return nil, errors.New("away")
	}}
	for range 3 { // a scrape storm asks once
		to := make(chan prometheus.Metric, 10)
		g.Collect(to)
		if len(to) != 0 {
			t.Fatal("something was reported")
		}
	}
	if calls != 1 {
		t.Errorf("Redis was asked %d times", calls)
	}
}

// What frames pass by costs next to nothing beside a round trip or a write.
func BenchmarkMetricsPerCall(b *testing.B) {
	m := newMetrics()
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			m.log.Appended(3, 300, 1000)
		}
	})
	b.Run("sent", func(b *testing.B) {
		for b.Loop() {
			m.sockets.Sent(1, 120)
		}
	})
}
