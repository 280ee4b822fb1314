package demo_test

import (
	"fmt"
	"testing"

	"turnlog/agent/agenttest"
	"turnlog/agent/demo"
)

func BenchmarkFastPath(b *testing.B) {
	turn := agenttest.New(info(fmt.Sprintf(`{"frames":%d,"bytes":100}`, b.N)))
	turn.Discard = true
	b.ReportAllocs()
	b.ResetTimer()
	if err := (demo.Agent{}).Run(b.Context(), turn); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}
