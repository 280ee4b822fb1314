package bench_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"turnlog/bench"
	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPercentilesAreNearTheTruth(t *testing.T) {
	var a, b bench.Histogram
	for us := range int64(100_000) {
		if us%2 == 0 {
			a.Add(us)
		} else {
			b.Add(us)
		}
	}
	a.Merge(&b)
	p := a.Percentiles()
	for _, c := range []struct{ got, want float64 }{{p.P50, 50}, {p.P95, 95}, {p.P99, 99}, {p.Max, 99.999}} {
		if c.got < c.want*0.98 || c.got > c.want*1.001 {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	var none bench.Histogram
	if none.Percentiles() != nil {
		t.Error("percentiles of nothing")
	}
	none.Add(-5)
	none.Add(1 << 62)
	if p := none.Percentiles(); p.P50 < 0 || p.Max <= 0 {
		t.Errorf("%+v", p)
	}
}

func spliced(typ string, seq int64) string {
	return string(frame.Splice(nil, []byte(`{"type":"`+typ+`","content":"x","content_metadata":{"t":5}}`), "t", "u", seq))
}

func TestViewersNoticeHolesAndRepeats(t *testing.T) {
	last := `{"type":"turn_finished","outcome":"completed","chat_seq":9}`
	for name, tc := range map[string]struct {
		messages []string
		want     bench.Tally
	}{
		"in order":      {[]string{`{"type":"welcome"}`, spliced("chunk", 4), spliced("chunk", 5)}, bench.Tally{Received: 2, Last: 5}},
		"batched":       {[]string{"[" + spliced("chunk", 4) + "," + spliced("chunk", 5) + "]"}, bench.Tally{Received: 2, Last: 5}},
		"hole":          {[]string{spliced("chunk", 4), spliced("chunk", 8)}, bench.Tally{Received: 2, Last: 8, Missing: 3}},
		"repeat":        {[]string{spliced("chunk", 4), spliced("chunk", 4)}, bench.Tally{Received: 2, Last: 4, Repeated: 1}},
		"announced":     {[]string{spliced("chunk", 4), `{"type":"chat_resumed","first_seq":8}`, spliced("chunk", 8)}, bench.Tally{Received: 2, Last: 8, Trimmed: 3}},
		"batched too":   {[]string{"[" + spliced("chunk", 4) + `,{"type":"chat_resumed","first_seq":8},` + spliced("chunk", 8) + "," + spliced("chunk", 10) + "]"}, bench.Tally{Received: 3, Last: 10, Trimmed: 3, Missing: 1}},
		"finished":      {[]string{spliced("chunk", 8), last}, bench.Tally{Received: 2, Last: 9, Finished: true}},
		"batched end":   {[]string{"[" + spliced("chunk", 8) + "," + last + "]"}, bench.Tally{Received: 2, Last: 9, Finished: true}},
		"not a counter": {[]string{`{"type":"chat_resumed","last_seq":7}`}, bench.Tally{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bench.Scan(tc.messages...); got != tc.want {
				t.Fatalf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestAcknowledgementsAreFoundInBatches(t *testing.T) {
	for in, want := range map[string]bool{
		`{"message":"ok","request_id":"bench"}`: true, `[{"type":"chunk"},{"message":"ok","request_id":"bench"}]`: true,
		`{"message":"ok"}`: false, `{"type":"chunk","content":"\"request_id\":\"bench\""}`: false, `[`: false,
	} {
		if got := bench.Acknowledgement([]byte(in)); (got != nil) != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

func TestNodeURLs(t *testing.T) {
	for in, want := range map[string]string{
		"http://a:1": "ws://a:1/ws", "https://a/": "wss://a/ws", "ws://a:1/ws": "ws://a:1/ws", "a:1": "ws://a:1/ws",
	} {
		if got := bench.NodeURL(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestOwnProcessIsMeasured(t *testing.T) {
	began := bench.CPUSeconds(os.Getpid())
	deadline := time.Now().Add(10 * time.Second)
	for sum := 0; bench.CPUSeconds(os.Getpid()) == began; sum++ {
		if time.Now().After(deadline) {
			t.Fatal("no processor time was used")
		}
	}
	if bench.MemoryKB(os.Getpid(), "VmRSS") < 1000 || bench.CPUSeconds(0) != 0 || bench.MemoryKB(0, "VmRSS") != 0 {
		t.Fatal("memory")
	}
}

func TestOptionsThatMakeNoSenseAreNamed(t *testing.T) {
	for want, o := range map[string]bench.Options{
		"no workload":  {Workload: "storms"},
		"threads":      {Workload: bench.Append, Threads: -1},
		"rate":         {Workload: bench.Live, Rate: -1},
		"duration":     {Workload: bench.Live, Duration: 1},
		"missed":       {Workload: bench.Resume, Missed: []int{0}},
		"viewers must": {Workload: bench.Live, Viewers: "both"},
		"no nodes":     {Workload: bench.Live},
		"second one":   {Workload: bench.Live, Nodes: []string{"http://a"}},
	} {
		if _, err := bench.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestTheWorkloadsRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "turnlog")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/turnlog").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, tc := range map[string]struct {
		options bench.Options
		figure  string
	}{
		"append":           {bench.Options{Workload: bench.Append, Threads: 10, Frames: 2000, Rounds: 1}, "fenced_frames_per_second"},
		"live, other node": {bench.Options{Workload: bench.Live, Threads: 4, Rate: 50, Duration: 500 * time.Millisecond}, "delivered_frames_per_second"},
		"live, same node":  {bench.Options{Workload: bench.Live, Viewers: bench.SameNode, Threads: 4, Rate: 50, Duration: 500 * time.Millisecond, Unbatched: true}, "delivered_frames_per_second"},
		"saturate":         {bench.Options{Workload: bench.Saturate, Threads: 2, Duration: 500 * time.Millisecond}, "delivered_frames_per_second"},
		"resume":           {bench.Options{Workload: bench.Resume, Missed: []int{10, 300}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Program = program
			result, err := bench.Run(t.Context(), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			if tc.figure != "" && result.Figures[tc.figure] <= 0 || result.Figures["missing_frames"]+result.Figures["repeated_frames"]+result.Figures["viewers_without_frames"] != 0 {
				t.Fatalf("%+v", result.Figures)
			}
			for _, step := range result.Steps {
				if step["received"] != step["missed"] || step["lost_or_repeated"] != 0 || step["redis_calls"] <= 0 {
					t.Fatalf("%+v", step)
				}
			}
			if tc.options.Workload == bench.Live && (result.Latency == nil || result.Latency.P50 <= 0) {
				t.Fatalf("latency %+v", result.Latency)
			}
			var table bytes.Buffer
			result.Table(&table)
			if _, err := json.Marshal(result); err != nil || !strings.Contains(table.String(), tc.options.Workload) {
				t.Fatal(err, table.String())
			}
		})
	}
}

func TestAnUnreachableRedisIsNamed(t *testing.T) {
	for url, want := range map[string]string{"redis://127.0.0.1:1": "127.0.0.1:1 does not answer", "nonsense": "redis url"} {
		if _, err := bench.Run(t.Context(), bench.Options{Workload: bench.Append, Redis: url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
