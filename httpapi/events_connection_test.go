package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestASubmissionOverHTTPPrefersItsStream(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	post := func(n *eventNode, thread, connection string) int {
		t.Helper()
		body := fmt.Sprintf(`{"content":"x","connection":%q,"on_disconnect":"cancel","demo":%s}`, connection, calling)
		resp, err := http.Post(n.url+"/v1/threads/"+thread+"/turns", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	first := nodes[0].open(t, "t", "follow=thread&tools=*", "")
	first.headed()
	second := nodes[0].open(t, "t", "follow=thread&tools=*", "")
	second.headed()
	if status := post(nodes[1], "t", second.conn); status != http.StatusAccepted {
		t.Fatalf("submission: %d", status)
	}
	first.until("request_open")
	second.until("tool_call")

	// A stream of this node that has ended is waited for by nobody.
	gone := nodes[0].open(t, "u", "follow=thread&tools=*", "")
	gone.headed()
	left := nodes[0].open(t, "u", "follow=thread&tools=*", "")
	left.headed()
	gone.close()
	eventually(t, "the stream is gone", func() bool { return nodes[0].API().Streams() == 3 })
	if status := post(nodes[0], "u", gone.conn); status != http.StatusAccepted {
		t.Fatalf("submission: %d", status)
	}
	left.until("tool_call")
}
