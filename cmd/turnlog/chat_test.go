package main

import (
	"bytes"
	"testing"
)

func TestTheAgentCannotSteerATerminal(t *testing.T) {
	const said, want = "a\x1b[31mred\x07\r\u009b2J\tb\nü", "a[31mred2J\tb\nü"
	var out, status bytes.Buffer
	v := newChatView(&out, &status)
	v.text(said)
	if out.String() != said {
		t.Errorf("a pipe got %q", out.String())
	}
	out.Reset()
	v.clean = true
	v.text(said)
	if out.String() != want {
		t.Errorf("a terminal got %q, want %q", out.String(), want)
	}
	v.note("turn failed %s", "x\x1b]0;title\x07")
	if got := status.String(); got != "· turn failed x]0;title\n" {
		t.Errorf("a status line %q", got)
	}
}
