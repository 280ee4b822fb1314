package pack

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"turnlog/frame"
)

// ToJSON appends src, one MessagePack value, to dst as JSON text. On an error
// the returned text is of no use. See the package comment for what is
// accepted; the errors are those of this package.
func ToJSON(dst, src []byte, limits Limits) ([]byte, error) {
	limits = limits.withDefaults()
	d := decoder{src: src, elements: limits.Elements, depth: limits.Depth}
	dst, undefined, err := d.value(dst, 0)
	switch {
	case err != nil:
		return dst, err
	case undefined:
		return dst, ErrUndefined
	case d.pos != len(src):
		return dst, ErrTrailing
	}
	return dst, nil
}

type decoder struct {
	src      []byte
	pos      int
	elements int // still allowed
	depth    int
}

func (d *decoder) left() int { return len(d.src) - d.pos }

// take returns the next n bytes without copying them.
func (d *decoder) take(n int) ([]byte, error) {
	if n < 0 || n > d.left() {
		return nil, ErrTruncated
	}
	b := d.src[d.pos : d.pos+n]
	d.pos += n
	return b, nil
}

// uint reads a big-endian unsigned integer of size bytes.
func (d *decoder) uint(size int) (uint64, error) {
	b, err := d.take(size)
	if err != nil {
		return 0, err
	}
	switch size {
	case 1:
		return uint64(b[0]), nil
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), nil
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), nil
	}
	return binary.BigEndian.Uint64(b), nil
}

// length reads a length of size bytes that must be left in the message.
func (d *decoder) length(size int) (int, error) {
	n, err := d.uint(size)
	if err != nil {
		return 0, err
	}
	if n > uint64(d.left()) {
		return 0, ErrTruncated
	}
	return int(n), nil
}

// value appends one value. undefined means that nothing was appended.
func (d *decoder) value(dst []byte, depth int) (_ []byte, undefined bool, err error) {
	head, err := d.take(1)
	if err != nil {
		return dst, false, err
	}
	switch b := head[0]; {
	case b <= 0x7f:
		return strconv.AppendUint(dst, uint64(b), 10), false, nil
	case b >= 0xe0:
		return strconv.AppendInt(dst, int64(int8(b)), 10), false, nil
	case b <= 0x8f:
		dst, err = d.mapping(dst, int(b&0x0f), depth)
	case b <= 0x9f:
		dst, err = d.list(dst, int(b&0x0f), depth)
	case b <= 0xbf:
		dst, err = d.text(dst, int(b&0x1f))
	default:
		return d.marked(dst, b, depth)
	}
	return dst, false, err
}

// marked appends a value whose first byte is only its type.
func (d *decoder) marked(dst []byte, b byte, depth int) (_ []byte, undefined bool, err error) {
	var n int
	switch b {
	case 0xc0:
		dst = append(dst, "null"...)
	case 0xc2:
		dst = append(dst, "false"...)
	case 0xc3:
		dst = append(dst, "true"...)
	case 0xc4, 0xc5, 0xc6:
		if n, err = d.length(1 << (b - 0xc4)); err == nil {
			dst, err = d.binary(dst, n)
		}
	case 0xc7, 0xc8, 0xc9:
		if n, err = d.length(1 << (b - 0xc7)); err == nil {
			return d.extension(dst, n)
		}
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return d.extension(dst, 1<<(b-0xd4))
	case 0xca, 0xcb:
		dst, err = d.float(dst, 4<<(b-0xca))
	case 0xcc, 0xcd, 0xce, 0xcf:
		var u uint64
		if u, err = d.uint(1 << (b - 0xcc)); err == nil {
			dst = strconv.AppendUint(dst, u, 10)
		}
	case 0xd0, 0xd1, 0xd2, 0xd3:
		dst, err = d.signed(dst, 1<<(b-0xd0))
	case 0xd9, 0xda, 0xdb:
		if n, err = d.length(1 << (b - 0xd9)); err == nil {
			dst, err = d.text(dst, n)
		}
	case 0xdc, 0xdd:
		if n, err = d.length(2 << (b - 0xdc)); err == nil {
			dst, err = d.list(dst, n, depth)
		}
	case 0xde, 0xdf:
		if n, err = d.length(2 << (b - 0xde)); err == nil {
			dst, err = d.mapping(dst, n, depth)
		}
	default:
		err = ErrReserved
	}
	return dst, false, err
}

func (d *decoder) signed(dst []byte, size int) ([]byte, error) {
	u, err := d.uint(size)
	if err != nil {
		return dst, err
	}
	shift := 64 - 8*size
	return strconv.AppendInt(dst, int64(u<<shift)>>shift, 10), nil
}

func (d *decoder) float(dst []byte, size int) ([]byte, error) {
	u, err := d.uint(size)
	if err != nil {
		return dst, err
	}
	f := math.Float64frombits(u)
	if size == 4 {
		f = float64(math.Float32frombits(uint32(u)))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...), nil
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), nil
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64), nil
}

func (d *decoder) text(dst []byte, n int) ([]byte, error) {
	b, err := d.take(n)
	if err != nil {
		return dst, err
	}
	if !utf8.Valid(b) {
		return dst, ErrUTF8
	}
	return frame.AppendQuoted(dst, b), nil
}

func (d *decoder) binary(dst []byte, n int) ([]byte, error) {
	b, err := d.take(n)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, '"'), nil
}

// enter spends n elements; each needs at least one byte of the message.
func (d *decoder) enter(n, perElement, depth int) error {
	if depth >= d.depth {
		return ErrTooDeep
	}
	if n*perElement > d.left() {
		return ErrTruncated
	}
	if d.elements -= n + 1; d.elements < 0 {
		return ErrTooMany
	}
	return nil
}

func (d *decoder) list(dst []byte, n, depth int) ([]byte, error) {
	if err := d.enter(n, 1, depth); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		var undefined bool
		var err error
		if dst, undefined, err = d.value(dst, depth+1); err != nil {
			return dst, err
		}
		if undefined {
			dst = append(dst, "null"...)
		}
	}
	return append(dst, ']'), nil
}

func (d *decoder) mapping(dst []byte, n, depth int) ([]byte, error) {
	if err := d.enter(n, 2, depth); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	open := len(dst)
	for range n {
		member := len(dst)
		if member > open {
			dst = append(dst, ',')
		}
		var undefined bool
		var err error
		if dst, err = d.key(dst); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, undefined, err = d.value(dst, depth+1); err != nil {
			return dst, err
		}
		if undefined {
			dst = dst[:member]
		}
	}
	return append(dst, '}'), nil
}

func (d *decoder) key(dst []byte) ([]byte, error) {
	head, err := d.take(1)
	if err != nil {
		return dst, err
	}
	switch b := head[0]; {
	case b >= 0xa0 && b <= 0xbf:
		return d.text(dst, int(b&0x1f))
	case b >= 0xd9 && b <= 0xdb:
		n, err := d.length(1 << (b - 0xd9))
		if err != nil {
			return dst, err
		}
		return d.text(dst, n)
	}
	return dst, ErrKey
}
