package command_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"turnlog/agent"
	"turnlog/agent/command"
	"turnlog/frame"
)

// split runs output through a splitter, cut at the given places, and returns
// what came out: objects in angle brackets, text as it is.
func split(t *testing.T, maxObject, maxText int, parts ...string) (objects []string, text string, err error) {
	t.Helper()
	s := command.NewSplitter(maxObject, maxText, func(line []byte) (bool, error) {
		if _, err := frame.Type(line); err != nil {
			return false, nil
		}
		objects = append(objects, string(line))
		return true, nil
	}, func(piece []byte) error {
		if len(piece) == 0 || len(piece) > maxText {
			t.Fatalf("a piece of %d bytes", len(piece))
		}
		text += string(piece)
		return nil
	})
	for _, p := range parts {
		if err := s.Write([]byte(p)); err != nil {
			return objects, text, err
		}
		if err := s.Flush(false); err != nil {
			return objects, text, err
		}
		if s.Held() > maxObject+len(p) {
			t.Fatalf("%d bytes held", s.Held())
		}
	}
	return objects, text, s.Flush(true)
}

func TestB105_OutputCutAnywhereArrivesByteEqual(t *testing.T) {
	const in = "Grüße, 世界 😀\r\n{\"type\":\"a\",\"c\":\"é{\\\"}😀\"}\n\n {\"type\":\"b\"} \n{ not json\n{}\n{\"x\":1}\ntail é😀"
	const wantText = "Grüße, 世界 😀\r\n\n{ not json\n{}\n{\"x\":1}\ntail é😀"
	for i := range len(in) + 1 {
		for j := i; j <= len(in); j++ {
			objects, text, err := split(t, 100, 16, in[:i], in[i:j], in[j:])
			if err != nil || text != wantText || strings.Join(objects, " ") != "{\"type\":\"a\",\"c\":\"é{\\\"}😀\"} {\"type\":\"b\"}" {
				t.Fatalf("cut at %d and %d: %q %q %v", i, j, objects, text, err)
			}
		}
	}
}

func TestAByteOrderMarkHidesNoObject(t *testing.T) {
	for in, want := range map[string]string{
		"\ufeff{\"type\":\"a\"}\ntext\n":           "[{\"type\":\"a\"}] \"text\\n\"",
		"\ufeffa {\n":                              "[] \"\ufeffa {\\n\"",
		"\ufeff":                                   "[] \"\ufeff\"",
		"\ufeff{\n{\"type\":\"a\"}":                "[{\"type\":\"a\"}] \"\ufeff{\\n\"",
		"a\n\ufeff{\"type\":\"a\"}\n":              "[] \"a\\n\ufeff{\\\"type\\\":\\\"a\\\"}\\n\"",
		"{\"type\":\"a\"}\n\ufeff{\"type\":\"b\"}": "[{\"type\":\"a\"}] \"\ufeff{\\\"type\\\":\\\"b\\\"}\"",
	} {
		for cut := range len(in) + 1 {
			objects, text, err := split(t, 100, 16, in[:cut], in[cut:])
			if got := fmt.Sprintf("%s \"%s\"", objects, strings.ReplaceAll(strings.ReplaceAll(text, "\"", "\\\""), "\n", "\\n")); got != want || err != nil {
				t.Errorf("%q cut at %d: %s, %v", in, cut, got, err)
			}
		}
	}
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("é😀x", 1000)
	if _, text, err := split(t, 100, 16, long, "\n"); err != nil || text != long+"\n" {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if _, text, err := split(t, 100, 16, long+`{"type":"a"}`+"\n"); err != nil || text != long+"{\"type\":\"a\"}\n" {
		t.Fatalf("an object behind text in one line: %v", err)
	}
	_, _, err := split(t, 100, 16, `{"type":"a","c":"`, long)
	if !errors.Is(err, agent.ErrFrameTooLarge) {
		t.Fatalf("an endless object: %v", err)
	}
}

// FuzzSplitter: objects and text together are the output, however it is cut,
// and every piece of valid output is valid.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\n{\"type\":\"x\"}\nb"), 3, 7)
	f.Add([]byte("é😀\xff\n {\"type\":\"\xe2\"}\r\n"), 1, 2)
	f.Fuzz(func(t *testing.T, in []byte, i, j int) {
		i = max(0, min(i, len(in)))
		j = max(i, min(j, len(in)))
		var out []byte
		s := command.NewSplitter(64, 16, func(line []byte) (bool, error) { return false, nil }, func(piece []byte) error {
			if len(piece) == 0 || len(piece) > 16 || (utf8.Valid(in) && !utf8.Valid(piece)) {
				t.Fatalf("piece %q", piece)
			}
			out = append(out, piece...)
			return nil
		})
		for _, p := range [][]byte{in[:i], in[i:j], in[j:]} {
			if err := s.Write(p); err != nil {
				if errors.Is(err, agent.ErrFrameTooLarge) {
					return
				}
				t.Fatal(err)
			}
			if err := s.Flush(false); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(true); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out, in) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}
