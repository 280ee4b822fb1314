package netproxy

import (
	"bufio"
	"errors"
	"io"
	"strconv"
)

// splitter cuts a stream into pieces.
type splitter struct {
	framing Framing
	in      *bufio.Reader
	buf     []byte
}

func newSplitter(f Framing, in *bufio.Reader) *splitter { return &splitter{framing: f, in: in} }

// next returns the next piece; it is overwritten by the call after it.
func (s *splitter) next() ([]byte, error) {
	s.buf = s.buf[:0]
	if s.framing == RESP {
		err := s.value(0)
		return s.buf, err
	}
	if _, err := s.in.Peek(1); err != nil {
		return nil, err
	}
	n := s.in.Buffered()
	s.buf = append(s.buf, make([]byte, n)...)
	_, err := io.ReadFull(s.in, s.buf)
	return s.buf, err
}

var errRESP = errors.New("not a Redis value")

// maxDepth of nested Redis values.
const maxDepth = 16

// value reads one whole Redis value (RESP2 and RESP3) into buf.
func (s *splitter) value(depth int) error {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	s.buf = append(s.buf, line...)
	if len(line) < 3 || depth > maxDepth {
		return errRESP
	}
	switch line[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return nil
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err != nil {
		return errRESP
	}
	switch line[0] {
	case '$', '=', '!':
		if n < 0 {
			return nil
		}
		at := len(s.buf)
		s.buf = append(s.buf, make([]byte, n+2)...)
		_, err := io.ReadFull(s.in, s.buf[at:])
		return err
	case '%', '|': // an attribute is followed by the value it belongs to
		n *= 2
		if line[0] == '|' {
			n++
		}
	case '*', '~', '>':
	default:
		return errRESP
	}
	for range n {
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}
