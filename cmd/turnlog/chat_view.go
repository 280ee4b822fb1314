package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
)

// chatView writes the agent's text to out and status lines to status. Safe for
// concurrent use.
type chatView struct {
	mu      sync.Mutex
	out     io.Writer
	status  io.Writer
	dim     bool // status lines are dimmed
	prompt  bool // somebody types
	shared  bool // out and status are the same terminal
	clean   bool // out is a terminal: control characters of the agent stay out
	midLine bool // out's last line is open
}

func newChatView(out, status io.Writer) *chatView {
	terminal := isTerminal(status)
	return &chatView{
		out: out, status: status,
		dim:    terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		shared: terminal && isTerminal(out), clean: isTerminal(out),
	}
}

// text shows what the agent said.
func (v *chatView) text(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.clean {
		s = harmless(s)
	}
	_, _ = io.WriteString(v.out, s)
	if s != "" {
		v.midLine = !strings.HasSuffix(s, "\n")
	}
}

// harmless drops the control characters with which an agent could steer a
// terminal: all but newline and tab.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// endLine closes an open line of text.
func (v *chatView) endLine() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endLineLocked(v.out)
}

func (v *chatView) endLineLocked(w io.Writer) {
	if v.midLine {
		_, _ = io.WriteString(w, "\n")
		v.midLine = false
	}
}

// note shows a status line.
func (v *chatView) note(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	line := "· " + harmless(fmt.Sprintf(format, args...))
	if v.dim {
		line = "\x1b[2m" + line + "\x1b[0m"
	}
	if v.shared { // on a terminal the line must not hang behind the text
		v.endLineLocked(v.status)
	}
	fmt.Fprintln(v.status, line)
}

// ask shows the prompt when somebody types.
func (v *chatView) ask() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.prompt {
		v.endLineLocked(v.out)
		fmt.Fprint(v.status, "> ")
	}
}

// isTerminal says whether f is a terminal: a character device that is not the
// null device.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
