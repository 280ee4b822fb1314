package chaos_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"turnlog/chaos"
	"turnlog/chaos/verify"
)

// Sizes: make test runs the short one; make chaos sets CHAOS_SECONDS.
var (
	short = chaos.Size{Length: 20 * time.Second, Threads: 12, Viewers: 24}
	full  = chaos.Size{Threads: 40, Viewers: 80}
)

// TestChaos runs the schedule of a seed. CHAOS_SECONDS makes the storm that long, and
// as large as it is meant to be; CHAOS_SEED repeats a schedule.
func TestChaos(t *testing.T) {
	size, seed := short, uint64(time.Now().UnixNano())%1_000_000
	if text := os.Getenv("CHAOS_SECONDS"); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 1 {
			t.Fatalf("CHAOS_SECONDS is no number of seconds: %q", text)
		}
		size = full
		size.Length = time.Duration(seconds) * time.Second
	}
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("CHAOS_SEED is no seed: %q", text)
		}
		seed = n
	}
	t.Logf("CHAOS_SEED=%d, storm of %v", seed, size.Length)
	s := chaos.Generate(seed, size)
	program, err := product()
	if err != nil {
		t.Fatal(err)
	}
	record := run(t, program, s)
	summary(t, record)
	if len(record.Findings) == 0 {
		return
	}
	t.Errorf("%d findings; again with CHAOS_SEED=%d CHAOS_SECONDS=%.0f (unset for the short run)\n%s", len(record.Findings), seed, size.Length.Seconds(), s)
	for i, f := range record.Findings {
		if i == 20 {
			t.Errorf("and %d more", len(record.Findings)-i)
			break
		}
		t.Errorf("%s", f)
	}
	explain(t, s, record)
}

func run(t *testing.T, program string, s *chaos.Schedule) *chaos.Record {
	t.Helper()
	record, err := chaos.Run(t.Context(), s, chaos.Options{Binary: program, Dir: t.TempDir(), Raced: raced, Log: t.Logf})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", s.Seed, err, s)
	}
	return record
}

// summary tells what the run was about.
func summary(t *testing.T, r *chaos.Record) {
	t.Helper()
	frames, told, sockets, outcomes := 0, 0, 0, map[string]int{}
	for _, th := range r.History.Threads {
		frames += len(th.Log)
		for _, f := range th.Log {
			if outcome, ok := f.Object["outcome"].(string); ok && f.Type == "turn_finished" {
				outcomes[outcome]++
			}
		}
		for _, v := range th.Viewers {
			sockets += len(v.Sockets)
			for _, s := range v.Sockets {
				told += len(s.Events)
			}
		}
	}
	t.Logf("%d frames, %d events on %d sockets, turns: %v", frames, told, sockets, outcomes)
}

// explain prints what was planned for the first thread with a finding, its log, and what nodes said.
func explain(t *testing.T, s *chaos.Schedule, r *chaos.Record) {
	t.Helper()
	name, _, found := strings.Cut(r.Findings[0].Text, ": ")
	if !found {
		return
	}
	for _, th := range r.History.Threads {
		if th.User+"/"+th.ID != name {
			continue
		}
		var b strings.Builder
		for _, f := range th.Log {
			if f.Type != "chunk" || f.Object["content"] == "" {
				b.WriteString("  " + f.String() + "\n")
			}
		}
		t.Logf("%s\n%slog without text:\n%snodes:\n%s", name, s.Plans(name), tail(b.String(), 6000), tail(r.Evidence(th.ID), 6000))
	}
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

func has(findings []verify.Finding, kinds ...verify.Kind) bool {
	for _, f := range findings {
		for _, k := range kinds {
			if f.Kind == k {
				return true
			}
		}
	}
	return false
}
