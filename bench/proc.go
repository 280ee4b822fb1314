package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// clockTick is USER_HZ, which Linux fixes at 100.
const clockTick = 100

// cpuSeconds is the processor time a process has used, 0 when it cannot be told.
func cpuSeconds(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; count from its end.
	_, rest, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / clockTick
}

// memoryKB reads a field such as VmRSS or VmHWM, 0 when it cannot be told.
func memoryKB(pid int, field string) float64 {
	value := strings.TrimSuffix(procField(fmt.Sprintf("/proc/%d/status", pid), field), " kB")
	n, _ := strconv.ParseFloat(value, 64)
	return n
}

// resetPeak makes VmHWM start again from what is resident now, where allowed.
func resetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// usage is the processor time of some processes at one moment.
type usage map[string]float64

func cpuOf(pids map[string]int) usage {
	u := usage{}
	for name, pid := range pids {
		u[name] = cpuSeconds(pid)
	}
	return u
}

// perFrame is the difference in microseconds per frame.
func (u usage) perFrame(before usage, frames float64) map[string]float64 {
	out := map[string]float64{}
	for name, seconds := range u {
		out[name] = (seconds - before[name]) * 1e6 / max(frames, 1)
	}
	return out
}
