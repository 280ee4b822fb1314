package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"turnlog/client"
)

// A terminal chat: the text appears as it is produced, whatever the network does.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	finished := make(chan client.Finish, 1)
	c, err := client.Dial(ctx, "ws://127.0.0.1:8080/ws", client.Options{
		User: "alice",
		Handler: client.Handler{
			OnText:   func(_, text string) { fmt.Print(text) },
			OnFinish: func(f client.Finish) { finished <- f },
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send("t1", client.Message{Content: "hello"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println((<-finished).Outcome)
}

// A tool that agents may call in this process.
func ExampleTool() {
	clock := client.Tool{
		Name:        "clock",
		Description: "The local time",
		Run: func(context.Context, client.Call) (any, error) {
			return time.Now().Format(time.RFC3339), nil
		},
	}
	c, err := client.New("wss://chat.example.com/ws", client.Options{
		Tools: []client.Tool{clock},
		Token: func(context.Context) (string, error) { return os.Getenv("CHAT_TOKEN"), nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// What a header could not bring is read from the history.
func ExampleClient_Messages() {
	ctx := context.Background()
	reload := make(chan string, 16)
	c, err := client.Dial(ctx, "ws://127.0.0.1:8080/ws", client.Options{
		User: "alice",
		Handler: client.Handler{
			OnReconcile: func(r client.Reconcile) { reload <- r.ThreadID }, // a callback must not wait
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for threadID := range reload {
		page, err := c.Messages(ctx, threadID, "", 50)
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range page.Messages {
			fmt.Printf("%d %s: %s\n", m.Seq, m.Role, m.Content)
		}
	}
}

// A process that was restarted goes on where the last one stopped.
func ExampleClient_Open() {
	var saved client.ThreadState // from Client.Thread, before the restart
	c, err := client.Dial(context.Background(), "ws://127.0.0.1:8080/ws", client.Options{
		Handler: client.Handler{
			OnReconcile: func(r client.Reconcile) { log.Printf("reload the history of %s", r.ThreadID) },
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err := c.Open("t1", client.OpenOptions{LastSeq: saved.LastSeq, Epoch: saved.Epoch}); err != nil {
		log.Fatal(err)
	}
}
