package bench

// Histogram exposes the histogram.
type Histogram = histogram

// Add is histogram.add.
func (h *histogram) Add(us int64) { h.add(us) }

// Merge is histogram.merge.
func (h *histogram) Merge(o *histogram) { h.merge(o) }

// Percentiles is histogram.percentiles.
func (h *histogram) Percentiles() *Percentiles { return h.percentiles() }

// Tally is what a viewer has counted.
type Tally struct {
	Received, Last, Missing, Repeated, Trimmed int64
	Finished                                   bool
}

// Scan runs messages through a viewer.
func Scan(messages ...string) Tally {
	var v viewer
	for _, m := range messages {
		v.scan([]byte(m))
	}
	return Tally{v.received.Load(), v.last, v.missing, v.repeated, v.trimmed, v.finished}
}

// The rest is used as it is.
var (
	NodeURL         = nodeURL
	Acknowledgement = acknowledgement
	CPUSeconds      = cpuSeconds
	MemoryKB        = memoryKB
)
