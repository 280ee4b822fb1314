// Command go is an agent behind a URL: it verifies the signature, streams JSON
// lines, and keeps nothing between two calls.
//
//	WEBHOOK_SECRET=0123456789abcdef0123 PORT=9000 go run ./examples/webhook/go
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"turnlog/agent"
	"turnlog/agent/webhook"
)

type object = map[string]any

// line is what is POSTed.
type line struct {
	Type       string
	Message    json.RawMessage
	Answer     struct{ Decision string }
	Checkpoint struct{ Text string }
}

// answer writes the frames that answer one POST.
func answer(in line, say func(object)) {
	text := agent.Text(in.Message)
	switch in.Type {
	case "start":
		if slices.Contains(strings.Fields(text), "shout") {
			say(object{"type": "checkpoint", "state": object{"text": text}}) // comes back with the answer
			say(object{"type": "tool_approval_request", "ref": 1, "tool_name": "shout", "args": object{}})
			return
		}
	case "answer":
		if text = in.Checkpoint.Text; strings.HasPrefix(in.Answer.Decision, "allow") {
			text = strings.ToUpper(text)
		}
	default:
		return
	}
	for word := range strings.FieldsSeq("You said: " + text) {
		say(object{"type": "chunk", "content": word + " "})
	}
	say(object{"type": "end", "usage": object{"words": len(strings.Fields(text))}})
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<20))
	if err != nil || webhook.Verify(os.Getenv("WEBHOOK_SECRET"), r.Header, body, time.Now()) != nil {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	var in line
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	answer(in, func(frame object) {
		if json.NewEncoder(w).Encode(frame) == nil { // fails once the turn was stopped
			_ = http.NewResponseController(w).Flush()
		}
	})
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(os.Stdout, "listening on http://%s/\n", listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(serve), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}
