package e2e_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	nodes "turnlog/embedded"
	"turnlog/frame"
)

// goNode is the word that turns the test program into a node with an agent in Go.
const goNode = "go-node"

// runGoNode takes the URL of Redis and of the upstream, the tool timeout and the retention.
func runGoNode(args []string) int {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := func() error {
		options, err := redis.ParseURL(args[0])
		if err != nil {
			return err
		}
		var o nodes.Options
		o.Logger, o.Session.FrameLimit = logger, 64<<10
		if o.Session.ToolTimeout, err = time.ParseDuration(args[2]); err != nil {
			return err
		}
		if o.Log.ReplayRetention, err = time.ParseDuration(args[3]); err != nil {
			return err
		}
		n, err := nodes.New(context.Background(), redis.NewClient(options), map[string]agent.Agent{"go": goAgent{args[1]}}, o)
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go func() { _ = http.Serve(listener, n.Handler()) }()
		logger.Info("listening", "addr", listener.Addr().String(), "as", "program", "node", "go")
		return n.Run(context.Background())
	}()
	logger.Error("over", "error", err)
	return 1
}

// goAgent asks an upstream, where it needs one.
type goAgent struct{ upstream string }

// Run implements agent.Agent.
func (a goAgent) Run(ctx context.Context, turn agent.Turn) error {
	content := agent.Text(turn.Info().Message)
	verb, rest, _ := strings.Cut(content, " ")
	say := func(text string) error { return turn.Emit(ctx, frame.Chunk(text)) }
	switch verb {
	case "tool":
		return a.call(ctx, turn, "clock")
	case "approve":
		answer, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolApproval, Name: "rm", Fields: map[string]any{"tool_name": "rm"}})
		if err != nil {
			return err
		}
		if strings.Contains(string(answer.Payload), `"allow`) {
			return a.call(ctx, turn, "rm")
		}
		return say("denied")
	case "steer":
		if err := say("ready "); err != nil {
			return err
		}
		select {
		case in := <-turn.Inputs():
			return say("steer:" + agent.Text(in.Message))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "hold":
		return a.relay(ctx, "/hold?key="+rest, say)
	case "split":
		return a.relay(ctx, "/split", say)
	case "invalid":
		for _, b := range []string{"{\"type\":\"chunk\",\"content\":\"\xff\"}", "{\"type\":\"note\",\"k\xc3\":1}", `{"type":"chunk","content":"\ud83d"}`} {
			if err := turn.Emit(ctx, []byte(b)); err != nil && !errors.Is(err, agent.ErrInvalidFrame) {
				return err
			}
		}
		return say("bad \xff\xfe\xf0\x9f.")
	case "oversized":
		return say(strings.Repeat("x", 200_000))
	case "invalid-frame":
		return turn.Emit(ctx, []byte(`{"type":""}`))
	case "reserved":
		return turn.Emit(ctx, []byte(`{"type":"turn_finished"}`))
	case "panic":
		panic("demo: as asked")
	case "error":
		return &agent.Error{Message: "No more cheese.", Type: "out_of_cheese"}
	}
	return say("heard:" + content)
}

func (goAgent) call(ctx context.Context, turn agent.Turn, name string) error {
	answer, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: name, Fields: map[string]any{"name": name, "args": map[string]any{}}})
	said := string(answer.Payload)
	if errors.Is(err, agent.ErrExpired) {
		said, err = "expired", nil
	}
	if err != nil {
		return err
	}
	return turn.Emit(ctx, frame.Chunk("answer:"+said))
}

// relay says the lines that the upstream answers with.
func (a goAgent) relay(ctx context.Context, path string, say func(string) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.upstream+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if err := say(lines.Text()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return lines.Err()
}

// serveProgram starts a program that is a node and says where it listens as turnlog serve does.
func serveProgram(name string, args ...string) (*node, error) {
	p, err := spawn(nil, name, args...)
	if err != nil {
		return nil, err
	}
	n := &node{process: p}
	if n.addr, n.id, err = p.Listening(patience); err != nil {
		p.kill()
		return nil, err
	}
	if err := n.ready(); err != nil {
		p.kill()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
