package frame

// scanner walks one JSON text. It accepts exactly what encoding/json accepts,
// less what is nested deeper than MaxDepth; strict also refuses escapes that
// name half a surrogate pair.
type scanner struct {
	b      []byte
	i      int
	strict bool
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (s *scanner) space() {
	for s.i < len(s.b) && isSpace(s.b[s.i]) {
		s.i++
	}
}

func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// object walks a whole text that must be one object and calls member for each
// top-level member: its index, the bounds of the quoted key and of the value.
func (s *scanner) object(member func(n, keyStart, keyEnd, valStart, valEnd int)) bool {
	s.space()
	if !s.take('{') || !s.members(1, member) {
		return false
	}
	s.space()
	return s.i == len(s.b)
}

func (s *scanner) members(depth int, member func(n, keyStart, keyEnd, valStart, valEnd int)) bool {
	s.space()
	if s.take('}') {
		return true
	}
	for n := 0; ; n++ {
		s.space()
		keyStart := s.i
		if !s.string() {
			return false
		}
		keyEnd := s.i
		s.space()
		if !s.take(':') {
			return false
		}
		s.space()
		valStart := s.i
		if !s.value(depth) {
			return false
		}
		if member != nil {
			member(n, keyStart, keyEnd, valStart, s.i)
		}
		s.space()
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// value expects no white space in front; depth is that of the container.
func (s *scanner) value(depth int) bool {
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"':
		return s.string()
	case '{':
		s.i++
		return depth < MaxDepth && s.members(depth+1, nil)
	case '[':
		s.i++
		return depth < MaxDepth && s.list(depth+1)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) list(depth int) bool {
	s.space()
	if s.take(']') {
		return true
	}
	for {
		s.space()
		if !s.value(depth) {
			return false
		}
		s.space()
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) literal(word string) bool {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return false
	}
	s.i += len(word)
	return true
}

func (s *scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
	}
	return s.i > from
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

// special marks the bytes at which the inside of a string needs a look.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

func (s *scanner) string() bool {
	if !s.take('"') {
		return false
	}
	b, i := s.b, s.i
	for {
		for i < len(b) && !special[b[i]] {
			i++
		}
		if i >= len(b) || b[i] < 0x20 {
			return false
		}
		if b[i] == '"' {
			s.i = i + 1
			return true
		}
		n := s.escape(i)
		if n == 0 {
			return false
		}
		i += n
	}
}

// escape returns the length of the escape sequence at i, 0 when it is wrong.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.b) {
		return 0
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		r := hex4(s.b, i+2)
		switch {
		case r < 0:
			return 0
		case r < 0xd800 || r > 0xdfff || !s.strict:
			return 6
		case r < 0xdc00 && isLow(lowAfter(s.b, i)):
			return 12
		}
	}
	return 0
}

// lowAfter reads the \u escape that follows the one at i, -1 when none does.
func lowAfter(b []byte, i int) rune {
	if i+7 < len(b) && b[i+6] == '\\' && b[i+7] == 'u' {
		return hex4(b, i+8)
	}
	return -1
}

func isLow(r rune) bool { return r >= 0xdc00 && r <= 0xdfff }

func hex4(b []byte, i int) rune {
	if i+4 > len(b) {
		return -1
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
