package wire

import (
	"strconv"
	"strings"
)

const filler = "abcdefghijklmnopqrstuvwxyz"

// DemoText is what the server's demo agent says for frames chunks of size bytes:
// "n:", filler up to size, and a space.
func DemoText(frames, size int) string {
	var b strings.Builder
	for n := 1; n <= frames; n++ {
		b.WriteString(DemoChunk(n, size))
	}
	return b.String()
}

// DemoChunk is its n-th chunk.
func DemoChunk(n, size int) string {
	s := strconv.Itoa(n) + ":"
	for len(s) < size {
		s += filler[:min(len(filler), size-len(s))]
	}
	return s + " "
}
