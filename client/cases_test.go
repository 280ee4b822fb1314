package client_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"turnlog/client"
)

// threadCase is an exchange that every client has to have alike: the JavaScript
// client reads the same file.
type threadCase struct {
	Name  string
	Steps []struct {
		Connect bool     // a connection opens
		Lose    bool     // it is lost
		Open    *object  // the user opens the thread: last_seq, epoch, full
		Send    *object  // the user sends "hi": id
		Receive []object // messages of the server; "$last" is the last request_id
		Sent    []object // what the client sends in this step, these keys at least
		Told    []string // what it tells, in order: frame SEQ, reconcile STATUS
		Busy    bool     // whether a turn runs or is about to, after the step
	}
	State object // of the thread, in the end
}

func TestThreadCases(t *testing.T) {
	b, err := os.ReadFile("testdata/thread_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []threadCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, row := range cases {
		t.Run(row.Name, func(t *testing.T) {
			var told []string
			d, err := client.NewDry(client.Handler{
				OnFrame:     func(f client.Frame) { told = append(told, "frame "+jsonOf(f.Seq)) },
				OnReconcile: func(r client.Reconcile) { told = append(told, "reconcile "+r.Status) },
			})
			if err != nil {
				t.Fatal(err)
			}
			last := ""
			for i, step := range row.Steps {
				told = nil
				switch {
				case step.Connect:
					d.Connect()
				case step.Lose:
					d.Lose()
				case step.Open != nil:
					err = d.Open("t1", openOptions(*step.Open))
				case step.Send != nil:
					_, err = d.Send("t1", client.Message{ID: (*step.Send)["id"].(string), Content: "hi"})
				}
				for _, m := range step.Receive {
					if err == nil {
						err = d.Receive(strings.ReplaceAll(jsonOf(m), `"$last"`, jsonOf(last)))
					}
				}
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				sent := d.Sent()
				for _, m := range sent {
					if id, ok := m["request_id"].(string); ok {
						last = id
					}
				}
				if !slices.EqualFunc(sent, step.Sent, func(got, want object) bool { return contains(got, want) && sameKeys(got, want) }) {
					t.Fatalf("step %d sent %s, want %s", i, jsonOf(sent), jsonOf(step.Sent))
				}
				if !slices.Equal(told, step.Told) {
					t.Fatalf("step %d told %q, want %q", i, told, step.Told)
				}
				if busy := d.Thread("t1").Busy; busy != step.Busy {
					t.Fatalf("step %d: busy %v, want %v", i, busy, step.Busy)
				}
			}
			s := d.Thread("t1")
			if got := (object{"last_seq": float64(s.LastSeq), "epoch": s.Epoch, "turn_id": s.TurnID}); !contains(got, row.State) {
				t.Fatalf("state %v, want %v", got, row.State)
			}
		})
	}
}

func openOptions(o object) (out client.OpenOptions) {
	seq, _ := o["last_seq"].(float64)
	out.LastSeq = int64(seq)
	out.Epoch, _ = o["epoch"].(string)
	out.Full, _ = o["full"].(bool)
	return out
}

// sameKeys says whether the data of a command has no more keys than wanted.
func sameKeys(got, want object) bool { return len(data(got)) == len(data(want)) }

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
