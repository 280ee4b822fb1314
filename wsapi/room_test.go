package wsapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"turnlog/identity"
	"turnlog/limit"
	"turnlog/wsapi"
)

func TestB104_MessagesThatArriveHaveRoomOrClose1013(t *testing.T) {
	seen, room := counting(), limit.NewRoom(1<<20)
	_, url := serve(t, newWorld(), wsapi.Options{Room: room, Metrics: seen}, identity.NoAuth{})
	const size = 200 << 10    // one user may have 256 KiB
	const arrived = 160 << 10 // at least, of one; the rest is in the client's buffer
	half := func(p *peer) {
		t.Helper()
		w, err := p.ws.Writer(context.Background(), websocket.MessageText) // its end would cut the connection
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(w, `{"type":"ping","ts":%q`, strings.Repeat("x", size)); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) *peer { return dial(t, url+"?user="+user) }

	first := as("ann")
	half(first)
	eventually(t, "it takes its place", func() bool { return room.Taken() >= arrived })
	greedy := as("ann")
	half(greedy)
	if code := greedy.closed(); code != websocket.StatusTryAgainLater {
		t.Fatalf("closed with %d", code)
	}
	seen.want(t, "too_many_bytes_of_user", 1)
	for i := range 3 {
		half(as(fmt.Sprint("other", i)))
	}
	eventually(t, "the others take theirs", func() bool { return room.Taken() >= 4*arrived })
	half(as("other3"))
	half(as("late")) // what is left is not enough for it
	seen.want(t, "too_many_bytes", 1)

	// Small messages do not need any.
	small := as("ann")
	small.send(`{"type":"ping","ts":1}`)
	small.next()
}

func TestAnIdleConnectionHoldsNoLargeMessage(t *testing.T) {
	room := limit.NewRoom(1 << 20)
	_, url := serve(t, newWorld(), wsapi.Options{Room: room}, identity.NoAuth{})
	p := dial(t, url)
	for range 3 { // each needs most of the user's share
		p.send(`{"type":"ping","ts":%q}`, strings.Repeat("x", 200<<10))
		p.next()
		eventually(t, "the message is forgotten", func() bool { return room.Taken() == 0 })
	}
}
