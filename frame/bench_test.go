package frame_test

import (
	"strings"
	"testing"

	"turnlog/frame"
)

func BenchmarkCheck(b *testing.B) {
	for name, in := range map[string][]byte{
		"150B":    frame.Chunk(strings.Repeat("word ", 23)),
		"stamped": []byte(`{"type":"chunk","chat_seq":1,"content":"` + strings.Repeat("word ", 20) + `"}`),
		"16KiB":   frame.Chunk(strings.Repeat("wörd\n", 3000)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := frame.Check(in, 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplice(b *testing.B) {
	in := frame.Chunk(strings.Repeat("word ", 23))
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		dst = frame.Splice(dst[:0], in, "thread-1", "0190b5a2-7f3e-7000-8000-000000000000", 123456)
	}
}

func TestValidatingAChunkAllocatesNothing(t *testing.T) {
	in := frame.Chunk("hello")
	if n := testing.AllocsPerRun(100, func() { _, _, _ = frame.Check(in, 1000) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
