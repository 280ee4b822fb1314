// Command embedded is a program that serves its own agent:
//
//	REDIS_URL=redis://127.0.0.1:6379 LISTEN=127.0.0.1:8080 go run ./examples/embedded
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/embedded"
	"turnlog/frame"
)

type shouter struct{}

func (shouter) Run(ctx context.Context, turn agent.Turn) error {
	text := strings.ToUpper(agent.Text(turn.Info().Message))
	for word := range strings.FieldsSeq(text) {
		if err := turn.Emit(ctx, frame.Chunk(word+" ")); err != nil {
			return err // the turn was stopped, for example
		}
	}
	return turn.Emit(ctx, frame.Message(text, false, false))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(cmp.Or(os.Getenv("REDIS_URL"), "redis://127.0.0.1:6379"))
	check(err)
	node, err := embedded.New(ctx, redis.NewClient(options), map[string]agent.Agent{"shouter": shouter{}}, embedded.Options{})
	check(err)
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8080"))
	check(err)
	go func() { _ = http.Serve(listener, node.Handler()) }()
	fmt.Fprintf(os.Stdout, "listening on ws://%s/ws\n", listener.Addr())
	check(node.Run(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
