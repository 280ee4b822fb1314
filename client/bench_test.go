package client_test

import (
	"fmt"
	"testing"

	"turnlog/client"
)

// BenchmarkReceive is what the client itself costs per frame: decoding, the thread's machine,
// callbacks.
func BenchmarkReceive(b *testing.B) {
	texts := 0
	d, err := client.NewDry(client.Handler{OnText: func(_, s string) { texts += len(s) }})
	if err != nil {
		b.Fatal(err)
	}
	if err := d.Open("t", client.OpenOptions{LastSeq: 1, Epoch: "e"}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for seq := 2; b.Loop(); seq++ {
		err := d.Receive(fmt.Sprintf(`{"type":"chunk","content":"%d: ","content_metadata":{"t":1790000000000000},`+
			`"thread_id":"t","turn_id":"0197aaaa-bbbb-cccc-dddd-eeeeffff0000","chat_seq":%d}`, seq, seq))
		if err != nil {
			b.Fatal(err)
		}
	}
	if texts == 0 {
		b.Error("nothing was delivered")
	}
}
