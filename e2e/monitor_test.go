package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// monitor sees every command that the server executes, those of scripts included.
type monitor struct {
	redis *redisServer
	lines *bufio.Scanner
	marks int
}

func (r *redisServer) watch(t testing.TB) *monitor {
	t.Helper()
	conn, err := net.DialTimeout("tcp", r.addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Minute))
	fmt.Fprint(conn, "MONITOR\r\n")
	m := &monitor{redis: r, lines: bufio.NewScanner(conn)}
	m.lines.Buffer(nil, 8<<20)
	if !m.lines.Scan() || m.lines.Text() != "+OK" {
		t.Fatalf("MONITOR: %q", m.lines.Text())
	}
	return m
}

// during returns the commands that were executed while f ran and that name somebody,
// without their times and origins.
func (m *monitor) during(t testing.TB, somebody string, f func()) (commands []string) {
	t.Helper()
	m.mark(t)
	f()
	m.marks++
	end := fmt.Sprintf("mark-%d", m.marks)
	if err := m.redis.own.Echo(context.Background(), end).Err(); err != nil {
		t.Fatal(err)
	}
	for m.lines.Scan() {
		_, command, _ := strings.Cut(m.lines.Text(), "] ")
		if strings.Contains(command, `"`+end+`"`) {
			return commands
		}
		if strings.Contains(command, somebody) {
			commands = append(commands, command)
		}
	}
	t.Fatal("MONITOR ended")
	return nil
}

// mark passes over what was executed so far.
func (m *monitor) mark(t testing.TB) {
	t.Helper()
	m.marks++
	start := fmt.Sprintf("mark-%d", m.marks)
	if err := m.redis.own.Echo(context.Background(), start).Err(); err != nil {
		t.Fatal(err)
	}
	for m.lines.Scan() {
		if strings.Contains(m.lines.Text(), `"`+start+`"`) {
			return
		}
	}
	t.Fatal("MONITOR ended")
}
