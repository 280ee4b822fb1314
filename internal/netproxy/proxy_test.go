package netproxy_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"turnlog/internal/netproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// echo is a server that answers every line with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return l.Addr().String()
}

func start(t *testing.T, target string, o netproxy.Options) *netproxy.Proxy {
	t.Helper()
	p, err := netproxy.Start(target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

type peer struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *netproxy.Proxy) *peer {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &peer{t, c, bufio.NewReader(c)}
}

func (c *peer) say(s string) { _, _ = io.WriteString(c, s) }

func (c *peer) hear(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.in, got); err != nil || string(got) != want {
		c.t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// silence checks that nothing arrives for a moment.
func (c *peer) silence() {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if b, err := c.in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q, %v; want silence", b, err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
}

// over checks that the connection ended.
func (c *peer) over() {
	c.t.Helper()
	if b, err := c.in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %q, %v; want the end", b, err)
	}
}

func TestForwardsBothWaysAndTheEnd(t *testing.T) {
	c := dial(t, start(t, echo(t), netproxy.Options{}))
	c.say("hello")
	c.hear("hello")
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	c.over()
}

func TestCutEndsAllConnectionsAndTakesNewOnes(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{})
	a, b := dial(t, p), dial(t, p)
	a.say("x")
	a.hear("x")
	b.say("x")
	b.hear("x")
	if n := p.Cut(); n != 2 {
		t.Errorf("cut %d connections, want 2", n)
	}
	a.over()
	b.over()
	c := dial(t, p)
	c.say("y")
	c.hear("y")
}

func TestCutAfterSoManyBytes(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{})
	p.CutAfter(func(conn int) int64 {
		if conn == 1 {
			return 3
		}
		return -1
	})
	a := dial(t, p)
	a.say("abcdef")
	a.hear("abc")
	a.over()
	b := dial(t, p)
	b.say("abcdef")
	b.hear("abcdef")
}

func TestBlackHoleHoldsEverythingUntilResume(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{})
	c := dial(t, p)
	c.say("a")
	c.hear("a")
	p.BlackHole()
	c.say("b")
	c.silence()
	p.Resume()
	c.hear("b")
}

func TestHalfOpenIsSilenceForTheClient(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{})
	c := dial(t, p)
	c.say("a")
	c.hear("a")
	p.HalfOpen()
	c.say("b")
	c.silence()
	d := dial(t, p)
	d.say("c")
	d.hear("c")
}

func TestRefuseClosesNewConnectionsOnly(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{})
	c := dial(t, p)
	c.say("a")
	c.hear("a")
	p.Refuse()
	dial(t, p).over()
	c.say("b")
	c.hear("b")
	p.Resume()
	d := dial(t, p)
	d.say("c")
	d.hear("c")
}

func TestDelayHoldsPiecesBack(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{})
	p.Delay(30 * time.Millisecond)
	c := dial(t, p)
	begin := time.Now()
	c.say("a")
	c.hear("a")
	if took := time.Since(begin); took < 60*time.Millisecond {
		t.Errorf("there and back in %v, want at least 60ms", took)
	}
}

func TestFilterSeesWholeRedisValues(t *testing.T) {
	swallowed := make(chan string, 1)
	p := start(t, echo(t), netproxy.Options{
		Framing: netproxy.RESP,
		Filter: func(piece netproxy.Piece) netproxy.Verdict {
			if piece.Dir == netproxy.ToClient && bytes.Contains(piece.Data, []byte("secret")) {
				swallowed <- string(piece.Data)
				return netproxy.Swallow
			}
			return netproxy.Pass
		},
	})
	c := dial(t, p)
	values := []string{
		"+OK\r\n", ":12\r\n", "$-1\r\n", "$5\r\na\r\nbc\r\n", "*2\r\n$6\r\nsecret\r\n*1\r\n:1\r\n", "*-1\r\n", "*0\r\n",
		"%1\r\n+a\r\n:1\r\n", ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n", "-ERR x\r\n",
	}
	all := strings.Join(values, "")
	for i := range len(all) { // byte by byte: pieces do not depend on packets
		c.say(all[i : i+1])
	}
	c.hear(strings.ReplaceAll(all, values[4], ""))
	if got := <-swallowed; got != values[4] {
		t.Errorf("swallowed %q, want %q", got, values[4])
	}
}

func TestFilterCutsInsteadOfAReply(t *testing.T) {
	delivered := make(chan string, 1)
	p := start(t, echo(t), netproxy.Options{Filter: func(piece netproxy.Piece) netproxy.Verdict {
		if piece.Dir == netproxy.ToServer {
			delivered <- fmt.Sprintf("%d %s", piece.Conn, piece.Data)
			return netproxy.Pass
		}
		return netproxy.Cut
	}})
	c := dial(t, p)
	c.say("write")
	c.over()
	if got := <-delivered; got != "1 write" {
		t.Errorf("delivered %q", got)
	}
}

func TestFilterDeliversAndThenCuts(t *testing.T) {
	p := start(t, echo(t), netproxy.Options{Filter: func(piece netproxy.Piece) netproxy.Verdict {
		if piece.Dir == netproxy.ToClient {
			return netproxy.PassThenCut
		}
		return netproxy.Pass
	}})
	c := dial(t, p)
	c.say("last")
	c.hear("last")
	c.over()
}
