package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"turnlog/client"
)

// commandTimeout bounds the wait for the server's answer to a typed command.
const commandTimeout = 10 * time.Second

// errQuit ends the conversation on request.
var errQuit = errors.New("quit")

// talk sends the message given as argument, or what is typed, until the input
// ends, ctx does, or the client gives up (ended).
func (c *chat) talk(ctx context.Context, in io.Reader, args []string, ended <-chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 2)
	done := make(chan error, 1)
	ran := make(chan struct{}) // closed when the client's Run has ended
	go func() {
		defer close(ran)
		if err := <-ended; err != nil {
			failed <- err
			cancel()
		}
	}()
	go func() {
		select {
		case err := <-c.hopeless:
			failed <- err
			cancel()
		case <-ctx.Done():
		}
	}()
	go func() {
		if len(args) > 0 {
			done <- c.say(ctx, strings.Join(args, " "))
			return
		}
		done <- c.converse(ctx, in)
	}()
	select {
	case err := <-done:
		if err == nil || errors.Is(err, errQuit) {
			return c.result()
		}
		if errors.Is(err, client.ErrClosed) {
			<-ran // it knows why
		}
		select {
		case err = <-failed:
		default:
		}
		if errors.Is(err, context.Canceled) {
			return c.result()
		}
		return err
	case err := <-failed:
		return err
	case <-ctx.Done(): // the reader of a terminal cannot be interrupted: left behind
		select {
		case err := <-failed:
			return err
		default:
			return nil
		}
	}
}

// say sends one message and waits for the end of its turn.
func (c *chat) say(ctx context.Context, text string) error {
	select {
	case <-c.idle: // an older turn ended before: not ours
	default:
	}
	if err := c.send(ctx, text); err != nil {
		return err
	}
	return c.awaitIdle(ctx)
}

func (c *chat) awaitIdle(ctx context.Context) error {
	for c.client.Thread(c.flags.thread).Busy {
		select {
		case <-c.idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second): // a state that no frame announces, e.g. the log is gone
		}
	}
	return nil
}

// converse reads lines until the input ends.
func (c *chat) converse(ctx context.Context, in io.Reader) error {
	typed := isTerminal(in)
	c.view.prompt = typed
	if typed {
		c.view.note("type a message; /help lists the commands")
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 8<<20)
	for c.view.ask(); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if err := c.line(ctx, line, typed); err != nil {
			if errors.Is(err, errQuit) || ctx.Err() != nil {
				return err
			}
			if !errors.Is(err, errTold) {
				c.view.note("%v", err)
			}
			c.faulty(!typed)
		}
		if typed && !c.client.Thread(c.flags.thread).Busy {
			c.view.ask()
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	if typed {
		return nil
	}
	return c.awaitIdle(ctx)
}

// line acts on one line of input.
func (c *chat) line(ctx context.Context, line string, typed bool) error {
	switch {
	case line == "":
		return nil
	case strings.HasPrefix(line, "/"):
		return c.command(ctx, line)
	case typed:
		return c.send(ctx, line) // the server decides what a message during a turn does
	}
	if err := c.awaitIdle(ctx); err != nil {
		return err
	}
	return c.send(ctx, line)
}

// command acts on a line that starts with a slash.
func (c *chat) command(ctx context.Context, line string) error {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	thread := c.flags.thread
	switch name {
	case "/quit", "/exit":
		return errQuit
	case "/help":
		_, list, _ := strings.Cut(chatHelp, "While chatting:\n\n")
		list, _, _ = strings.Cut(list, "\n\n")
		c.view.note("commands:\n%s", list)
		return nil
	case "/drop":
		return c.drop(rest)
	case "/stop":
		return c.await(ctx)(c.client.Stop(thread))
	case "/steer":
		if rest == "" {
			return errors.New("/steer needs a text")
		}
		return c.await(ctx)(c.client.Steer(thread, rest))
	case "/policy":
		return c.await(ctx)(c.client.SetPolicy(thread, rest, ""))
	case "/allow", "/deny":
		return c.decide(name == "/allow")
	case "/result":
		return c.answerTool(rest)
	case "/threads":
		return c.threads(ctx)
	}
	known := []string{"/drop", "/stop", "/steer", "/allow", "/deny", "/result", "/policy", "/threads", "/quit", "/help"}
	return fmt.Errorf("unknown command %s%s", name, suggestion(name, known))
}

func (c *chat) drop(rest string) error {
	wait := time.Duration(0)
	if rest != "" {
		var err error
		if wait, err = time.ParseDuration(rest); err != nil || wait < 0 {
			return fmt.Errorf("/drop wants a duration such as 5s, not %q", rest)
		}
	}
	c.client.Drop(wait)
	return nil
}

// await waits for the answer to a command, in bounded time.
func (c *chat) await(ctx context.Context) func(*client.Pending, error) error {
	return func(p *client.Pending, err error) error {
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		if _, err = p.Wait(ctx); errors.Is(err, context.DeadlineExceeded) {
			return errors.New("no answer yet; it is sent again after the next reconnect")
		}
		return err
	}
}

// newest takes the newest open request that fits.
func (c *chat) newest(fits func(client.Request) bool) (client.Request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range slices.Backward(c.open) {
		if fits(r) {
			c.open = slices.Delete(c.open, i, i+1)
			return r, true
		}
	}
	return client.Request{}, false
}

func (c *chat) decide(allow bool) error {
	r, ok := c.newest(func(r client.Request) bool { return r.Type != "tool_call" })
	if !ok {
		return errors.New("nothing waits for an approval")
	}
	switch {
	case r.Type == "plan_approval_request":
		return c.client.ApprovePlan(r.ID, allow, "")
	case r.Type == "secret_request" && allow:
		return c.client.AnswerSecret(r.ID, "provided")
	case r.Type == "secret_request":
		return c.client.AnswerSecret(r.ID, "denied")
	case allow:
		return c.client.Approve(r.ID, client.Allow)
	default:
		return c.client.Approve(r.ID, client.Deny)
	}
}

func (c *chat) answerTool(rest string) error {
	if !json.Valid([]byte(rest)) {
		return errors.New(`/result wants JSON, for example /result {"temperature":21}`)
	}
	r, ok := c.newest(func(r client.Request) bool { return r.Type == "tool_call" })
	if !ok {
		return errors.New("no tool call waits for a result")
	}
	return c.client.AnswerTool(r.ThreadID, r.ID, json.RawMessage(rest), nil)
}

func (c *chat) threads(ctx context.Context) error {
	p, err := c.client.ListTurns()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	ack, err := p.Wait(ctx)
	if err != nil {
		return err
	}
	c.view.note("%d running turns", len(ack.Turns))
	for _, t := range ack.Turns {
		watched := "watched"
		if t.Detached {
			watched = "detached"
		}
		c.view.note("  %-24s %s, frame %d, turn %s", t.ThreadID, watched, t.LastSeq, t.TurnID)
	}
	return nil
}
