package process

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"
)

var listening = regexp.MustCompile(`msg=listening .*?addr="?([0-9.:]+)"?.*? node="?([^\s"]+)`)

// Listening waits until a "turnlog serve" says where it listens, and which node it is.
func (p *Process) Listening(patience time.Duration) (addr, node string, err error) {
	found, err := p.Stderr.Await(patience, listening)
	if err != nil {
		return "", "", err
	}
	return found[1], found[2], nil
}

// RedisReady is what redis-server says when it may be talked to, or never.
var RedisReady = regexp.MustCompile(`Ready to accept connections|Address already in use`)

// redisTries bounds how often somebody else may be faster at a free port.
const redisTries = 4

// StartRedis starts a redis-server that keeps nothing, on a free loopback port;
// args come last and may say otherwise.
func StartRedis(patience time.Duration, dir string, args ...string) (p *Process, addr string, err error) {
	for range redisTries {
		if addr, err = FreeAddr(); err != nil {
			return nil, "", err
		}
		_, port, _ := net.SplitHostPort(addr)
		all := append([]string{
			"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--logfile", "", "--daemonize", "no",
		}, args...)
		if p, err = Start(nil, "redis-server", all...); err != nil {
			return nil, "", fmt.Errorf("%w (install Debian's redis-server: make deps)", err)
		}
		found, err := p.Stdout.Await(patience, RedisReady)
		switch {
		case err != nil:
			p.Kill()
			return nil, "", err
		case strings.HasPrefix(found[0], "Ready"):
			return p, addr, nil
		}
		p.Kill()
	}
	return nil, "", fmt.Errorf("no free port for redis-server in %d tries", redisTries)
}

// FreeAddr is a loopback address at which nobody listens at this moment.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
