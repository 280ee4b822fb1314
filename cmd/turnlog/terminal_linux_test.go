package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"turnlog/cmd/turnlog/term"
)

// buildProgram builds the real program.
func buildProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "turnlog")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// onTerminal runs a program on a terminal of so many columns and returns what it shows.
func onTerminal(t *testing.T, columns int, env []string, name string, args ...string) string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	control := func(request uintptr, argument unsafe.Pointer) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), request, uintptr(argument)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var unlocked, number int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, uint16(columns)}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Env = theirs, append(append(os.Environ(), "TERM=xterm", "NO_COLOR="), env...)
	err = cmd.Run()
	theirs.Close()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, ours) // it ends with EIO, since nobody holds the other side
	return strings.ReplaceAll(shown.String(), "\r\n", "\n")
}

func TestARealTerminalGetsColourAndItsWidth(t *testing.T) {
	program := buildProgram(t)
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(chatMessage("a-thread-with-quite-a-long-name-0001", 1, 0))
	c.until("the end", ofType("turn_finished"))
	args := []string{"threads", "--redis", url}
	shown := onTerminal(t, 60, nil, program, args...)
	if !strings.Contains(shown, "\x1b[32mcompleted\x1b[0m") || !strings.Contains(shown, "…") {
		t.Errorf("shows %q", shown)
	}
	for line := range strings.Lines(escape.ReplaceAllString(shown, "")) {
		if w := term.Width(strings.TrimSuffix(line, "\n")); w > 60 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	for _, row := range []struct {
		name string
		env  []string
		args []string
	}{{"NO_COLOR", []string{"NO_COLOR=1"}, nil}, {"a dumb terminal", []string{"TERM=dumb"}, nil}, {"--color never", nil, []string{"--color", "never"}}} {
		if shown := onTerminal(t, 200, row.env, program, append(args, row.args...)...); strings.Contains(shown, "\x1b") || !strings.Contains(shown, "0001  completed") {
			t.Errorf("%s: shows %q", row.name, shown)
		}
	}
	piped, err := exec.Command(program, args...).Output()
	if err != nil || bytes.ContainsAny(piped, "\x1b") || bytes.Contains(piped, []byte("…")) {
		t.Errorf("%v, a pipe gets %q", err, piped)
	}
}

func TestCtrlCEndsTailQuietly(t *testing.T) {
	program := buildProgram(t)
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(chatMessage("t1", 10_000, 20))
	c.until("a chunk", ofType("chunk"))
	cmd := exec.Command(program, "tail", "t1", "--redis", url)
	out, complaints := &syncBuffer{}, &syncBuffer{}
	cmd.Stdout, cmd.Stderr = out, complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "it follows", func() bool { return strings.Contains(out.String(), "chunk") })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || complaints.String() != "" {
		t.Errorf("exit code %d, %q", code, complaints)
	}
}
