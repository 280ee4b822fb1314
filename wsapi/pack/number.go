package pack

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// number appends the number that is next.
func (e *encoder) number(dst []byte) ([]byte, error) {
	start, plain := e.pos, true
	for ; e.pos < len(e.src); e.pos++ {
		c := e.src[e.pos]
		if c >= '0' && c <= '9' || c == '-' && e.pos == start {
			continue
		}
		if c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			break
		}
		plain = false
	}
	text := e.src[start:e.pos]
	if len(text) == 0 {
		return dst, ErrJSON
	}
	if i, ok := smallInt(text); plain && ok {
		return appendInt(dst, i), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return dst, ErrJSON
	}
	if f == math.Trunc(f) && f >= math.MinInt32 && f <= math.MaxUint32 && !(f == 0 && math.Signbit(f)) {
		return appendInt(dst, int64(f)), nil
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(f)), nil
}

// smallInt reads digits with an optional minus; ok when the value is a plain
// integer of 32 bits (and not minus zero).
func smallInt(text []byte) (value int64, ok bool) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > 10 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		value = value*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		if value == 0 {
			return 0, false
		}
		value = -value
	}
	return value, value >= math.MinInt32 && value <= math.MaxUint32
}

// appendInt appends an integer of 32 bits in its smallest form.
func appendInt(dst []byte, i int64) []byte {
	switch {
	case i >= 0 && i <= 0x7f, i < 0 && i >= -32:
		return append(dst, byte(i))
	case i >= 0 && i <= math.MaxUint8:
		return append(dst, 0xcc, byte(i))
	case i >= 0 && i <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(i))
	case i >= 0:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(i))
	case i >= math.MinInt8:
		return append(dst, 0xd0, byte(i))
	case i >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xd1), uint16(i))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xd2), uint32(i))
}
