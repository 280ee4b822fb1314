//go:build soak

package e2e_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	bytesof "encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"turnlog/identity"
)

// attack is one kind of hostile client. Its clients do the same again and again until the
// siege is over.
type attack struct {
	name    string
	clients int
	users   int           // that they share; 0 = 1
	every   time.Duration // between two times of one client
	once    func(ctx context.Context, h hostile) (what string)

	// want are answers of which at least one shows that the node met the attack and
	// dealt with it: beginnings of what once returns.
	want []string
}

// hostile is one client of an attack.
type hostile struct {
	*siege
	user string
	me   int
}

// siege is what hostile clients know of a place.
type siege struct {
	plain string // address of a node
	tls   string // address of one with TLS
	trust *tls.Config
	calls *http.Client // keeps its connections, as a proxy does

	mu     sync.Mutex
	tokens map[string]string         // by user
	got    map[string]map[string]int // by attack and outcome
}

// nobody has a token that has expired.
const nobody = "nobody"

func (s *siege) token(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tokens[user] == "" {
		now := time.Now()
		grant := identity.Grant{User: user, Issued: now.Add(-2 * time.Hour), Expires: now.Add(24 * time.Hour)}
		if user == nobody {
			grant.Expires = now.Add(-time.Hour)
		}
		s.tokens[user], _ = identity.Mint([]byte(authSecret), grant) // names and the secret are good ones
	}
	return s.tokens[user]
}

// note counts an outcome.
func (s *siege) note(attack, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got[attack] == nil {
		s.got[attack] = map[string]int{}
	}
	s.got[attack][what]++
}

// lay runs all attacks at once until ctx ends.
func (s *siege) lay(ctx context.Context, attacks []attack) {
	var all sync.WaitGroup
	for i, a := range attacks {
		for me := range a.clients {
			h := hostile{s, fmt.Sprintf("mallory-%d-%d", i, me%max(a.users, 1)), me}
			all.Go(func() {
				tick := time.NewTicker(a.every)
				defer tick.Stop()
				for {
					if what := a.once(ctx, h); ctx.Err() == nil || what != "" {
						s.note(a.name, what)
					}
					select {
					case <-ctx.Done():
						return
					case <-tick.C:
					}
				}
			})
		}
	}
	all.Wait()
}

// raw is a connection of a client that keeps to no protocol. It is cut with ctx.
type raw struct {
	net.Conn
	in  *bufio.Reader
	cut func() bool
}

func dialRaw(ctx context.Context, addr string) (*raw, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(8 << 10)
	return &raw{conn, bufio.NewReader(conn), context.AfterFunc(ctx, func() { conn.Close() })}, nil
}

func (r *raw) Close() error {
	r.cut()
	return r.Conn.Close()
}

// say writes text.
func (r *raw) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r, format, args...)
	return err
}

// status reads the head of an answer and leaves its body unread.
func (r *raw) status() (*http.Response, error) { return http.ReadResponse(r.in, nil) }

// upgraded is a WebSocket without a library on it.
func (s *siege) upgraded(ctx context.Context, user, more string) (*raw, error) {
	r, err := dialRaw(ctx, s.plain)
	if err != nil {
		return nil, err
	}
	err = r.say("GET /ws HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", s.plain, s.token(user), more)
	if err == nil {
		var resp *http.Response
		if resp, err = r.status(); err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
			err = errStatus(resp.StatusCode)
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// errStatus is a handshake that was refused.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprint("refused with ", int(e)) }

// outcomeOf names an error without what differs from time to time.
func outcomeOf(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case errStatus:
		return e.Error()
	case net.Error:
		if e.Timeout() {
			return "waits"
		}
	}
	return "cut"
}

// WebSocket opcodes.
const (
	opContinue, opText, opBinary = 0, 1, 2
	opClose, opPing              = 8, 9
)

// wsFrame is a masked frame; first is its first byte, size what the header claims.
func wsFrame(first byte, size int, payload []byte) []byte {
	b := []byte{first}
	switch {
	case size < 126:
		b = append(b, 0x80|byte(size))
	case size < 1<<16:
		b = bytesof.BigEndian.AppendUint16(append(b, 0x80|126), uint16(size))
	default:
		b = bytesof.BigEndian.AppendUint64(append(b, 0x80|127), uint64(size))
	}
	b = append(b, 0, 0, 0, 0) // a mask that changes nothing
	return append(b, payload...)
}

func wsText(text string) []byte { return wsFrame(0x80|opText, len(text), []byte(text)) }

// command is a client's command as a text frame.
func command(name, data string) []byte {
	return wsText(fmt.Sprintf(`{"command":%q,"data":%s}`, name, data))
}

// verdict reads a socket until the server closes it or patience is over.
func (r *raw) verdict(patience time.Duration) string {
	_ = r.SetReadDeadline(time.Now().Add(patience))
	for {
		var head [2]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return outcomeOf(err)
		}
		size := uint64(head[1] & 0x7f)
		if size >= 126 {
			wide := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
			if _, err := io.ReadFull(r.in, wide); err != nil {
				return outcomeOf(err)
			}
			size = 0
			for _, b := range wide {
				size = size<<8 | uint64(b)
			}
		}
		if head[0]&0xf == opClose && size >= 2 {
			code := make([]byte, size)
			if _, err := io.ReadFull(r.in, code); err != nil {
				return outcomeOf(err)
			}
			return fmt.Sprint("closed ", bytesof.BigEndian.Uint16(code))
		}
		if _, err := io.CopyN(io.Discard, r.in, int64(size)); err != nil {
			return outcomeOf(err)
		}
	}
}

// call makes an HTTP call and names its outcome.
func (s *siege) call(ctx context.Context, user, method, path, body string, header ...string) string {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.plain+path, strings.NewReader(body))
	if err != nil {
		return "no request: " + err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+s.token(user))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.calls.Do(req)
	if err != nil {
		return outcomeOf(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return fmt.Sprint("HTTP ", resp.StatusCode)
}

// unique is a short text nobody else has.
func unique() string { return rand.Text()[:12] }

// pause waits, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
