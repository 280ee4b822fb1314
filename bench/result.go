package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"text/tabwriter"
	"time"
)

// Result is what a run found out; it is written as JSON.
type Result struct {
	Workload   string             `json:"workload"`
	Started    time.Time          `json:"started"`
	Machine    Machine            `json:"machine"`
	Versions   map[string]string  `json:"versions"`
	Parameters map[string]any     `json:"parameters"`
	Figures    map[string]float64 `json:"figures"`
	// Latency is in milliseconds, from the making of a chunk to its arrival.
	Latency *Percentiles `json:"latency_ms,omitempty"`
	// CPU is in microseconds per delivered (append: appended) frame, by process.
	CPU map[string]float64 `json:"cpu_us_per_frame,omitempty"`
	// Commands are Redis commands by name, per 1,000 frames (resume: per resume;
	// detached: per second while the turns wait).
	Commands map[string]float64 `json:"redis_commands,omitempty"`
	// Steps are the rows of a workload that measures several sizes.
	Steps []map[string]float64 `json:"steps,omitempty"`
}

// Machine is where the run took place.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	OS     string `json:"os"`
	Memory string `json:"memory,omitempty"`
	// Load is the load average of the last minute when the run began: figures
	// from a machine that was busy with something else are worth little.
	Load float64 `json:"load_average"`
}

// Percentiles of a distribution.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Run measures one workload. It returns when it is done, or with an error that
// says what is missing; then everything it started has ended.
func Run(ctx context.Context, options Options) (*Result, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	result := &Result{
		Workload: options.Workload, Started: time.Now().UTC(), Machine: thisMachine(),
		Versions: map[string]string{"go": runtime.Version(), "turnlog": version()}, Parameters: map[string]any{}, Figures: map[string]float64{},
	}
	var err error
	switch options.Workload {
	case Append:
		err = runAppend(ctx, options, result)
	case Resume:
		err = runResume(ctx, options, result)
	case Detached:
		err = runDetached(ctx, options, result)
	default:
		err = runLive(ctx, options, result)
	}
	if err != nil {
		return nil, fmt.Errorf("bench %s: %w", options.Workload, err)
	}
	return result, nil
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return info.Main.Version
}

func thisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH}
	m.CPU = procField("/proc/cpuinfo", "model name")
	m.Memory = procField("/proc/meminfo", "MemTotal")
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(b), &m.Load)
	}
	return m
}

// procField reads the first "key : value" line of a file in /proc.
func procField(file, key string) string {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Table writes the result for people.
func (r *Result) Table(w io.Writer) {
	fmt.Fprintf(w, "%s on %d x %s, load average %.1f before, %s, redis %s\n", r.Workload, r.Machine.Cores, r.Machine.CPU, r.Machine.Load, r.Versions["go"], r.Versions["redis"])
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var parameters []string
	for _, k := range sortedKeys(r.Parameters) {
		parameters = append(parameters, fmt.Sprintf("%s=%v", k, r.Parameters[k]))
	}
	fmt.Fprintf(out, "parameters\t%s\n", strings.Join(parameters, " "))
	for _, k := range sortedKeys(r.Figures) {
		fmt.Fprintf(out, "%s\t%s\n", k, number(r.Figures[k]))
	}
	if l := r.Latency; l != nil {
		fmt.Fprintf(out, "latency ms\tp50 %s  p95 %s  p99 %s  max %s\n", number(l.P50), number(l.P95), number(l.P99), number(l.Max))
	}
	for _, k := range sortedKeys(r.CPU) {
		fmt.Fprintf(out, "cpu us/frame %s\t%s\n", k, number(r.CPU[k]))
	}
	for _, k := range sortedKeys(r.Commands) {
		fmt.Fprintf(out, "redis %s\t%s\n", k, number(r.Commands[k]))
	}
	_ = out.Flush()
	r.steps(w)
}

func (r *Result) steps(w io.Writer) {
	if len(r.Steps) == 0 {
		return
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	keys := sortedKeys(r.Steps[0])
	fmt.Fprintln(out, strings.Join(keys, "\t")+"\t")
	for _, step := range r.Steps {
		for _, k := range keys {
			fmt.Fprint(out, number(step[k]), "\t")
		}
		fmt.Fprintln(out)
	}
	_ = out.Flush()
}

func number(f float64) string {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return fmt.Sprintf("%.0f", f)
	case math.Abs(f) >= 1000:
		return fmt.Sprintf("%.0f", f)
	default:
		return fmt.Sprintf("%.3g", f)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
