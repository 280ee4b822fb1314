package pack

import (
	"encoding/binary"
	"time"
)

// extension handles the body of an extension of n bytes: its type byte is next.
func (d *decoder) extension(dst []byte, n int) (_ []byte, undefined bool, err error) {
	kind, err := d.take(1)
	if err != nil {
		return dst, false, err
	}
	body, err := d.take(n)
	if err != nil {
		return dst, false, err
	}
	switch kind[0] {
	case 0x00:
		return dst, true, nil
	case 0xff:
		dst, err = appendTime(dst, body)
		return dst, false, err
	}
	return dst, false, ErrExtension
}

// appendTime writes a timestamp extension (32, 64 or 96 bits).
func appendTime(dst, body []byte) ([]byte, error) {
	var seconds, nanos int64
	switch len(body) {
	case 4:
		seconds = int64(binary.BigEndian.Uint32(body))
	case 8:
		u := binary.BigEndian.Uint64(body)
		nanos, seconds = int64(u>>34), int64(u&(1<<34-1))
	case 12:
		nanos = int64(binary.BigEndian.Uint32(body))
		seconds = int64(binary.BigEndian.Uint64(body[4:]))
	default:
		return dst, ErrExtension
	}
	// Beyond the years RFC 3339 can write (and msgpackr's invalid Date).
	if nanos > 999_999_999 || seconds < -62135596800 || seconds > 253402300799 {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '"')
	dst = time.Unix(seconds, nanos).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999Z07:00")
	return append(dst, '"'), nil
}
