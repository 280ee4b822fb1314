package bench

import "math/bits"

// histogram counts durations in microseconds with an error below 1.6 percent.
// Each viewer has its own; they are merged at the end.
type histogram struct {
	counts [64 * 64]uint32
	n      int64
	max    int64
}

const subBits = 6

func bucket(us int64) int {
	if us < 1<<subBits {
		return int(us)
	}
	shift := bits.Len64(uint64(us)) - subBits - 1
	return (shift+1)<<subBits + int(us>>shift)&(1<<subBits-1)
}

// lowest is the smallest value of a bucket.
func lowest(b int) int64 {
	if b < 1<<subBits {
		return int64(b)
	}
	shift := b>>subBits - 1
	return int64(1<<subBits+b&(1<<subBits-1)) << shift
}

func (h *histogram) add(us int64) {
	us = max(us, 0)
	h.counts[min(bucket(us), len(h.counts)-1)]++
	h.n++
	h.max = max(h.max, us)
}

func (h *histogram) merge(o *histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// quantile is in milliseconds.
func (h *histogram) quantile(q float64) float64 {
	rank := int64(q * float64(h.n))
	for i, c := range h.counts {
		if rank -= int64(c); rank < 0 {
			return float64(lowest(i)) / 1000
		}
	}
	return float64(h.max) / 1000
}

func (h *histogram) percentiles() *Percentiles {
	if h.n == 0 {
		return nil
	}
	return &Percentiles{P50: h.quantile(0.5), P95: h.quantile(0.95), P99: h.quantile(0.99), Max: float64(h.max) / 1000}
}
