package pack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"turnlog/wsapi/pack"
)

func TestAppendFromJSONKeepsOrderAndWritesNumbersSmall(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":2}`:          "\x82\xa1b\x01\xa1a\x02",
		`[0,127,128,255]`:        "\x94\x00\x7f\xcc\x80\xcc\xff",
		`[256,65535,65536]`:      "\x93\xcd\x01\x00\xcd\xff\xff\xce\x00\x01\x00\x00",
		`4294967295`:             "\xce\xff\xff\xff\xff",
		`4294967296`:             "\xcb\x41\xf0\x00\x00\x00\x00\x00\x00",
		`[-1,-32,-33,-128]`:      "\x94\xff\xe0\xd0\xdf\xd0\x80",
		`[-129,-32768]`:          "\x92\xd1\xff\x7f\xd1\x80\x00",
		`[-32769]`:               "\x91\xd2\xff\xff\x7f\xff",
		`-2147483649`:            "\xcb\xc1\xe0\x00\x00\x00\x20\x00\x00",
		`1.5`:                    "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00",
		`[1.0,1e2]`:              "\x92\x01\x64",
		`-0`:                     "\xcb\x80\x00\x00\x00\x00\x00\x00\x00",
		` [ true , null ] `:      "\x92\xc3\xc0",
		`""`:                     "\xa0",
		`"\u00e9\n\ud83d\ude00"`: "\xa7\xc3\xa9\n\xf0\x9f\x98\x80",
		`"\ud800x"`:              "\xa4\xef\xbf\xbdx",
	} {
		got, err := pack.AppendFromJSON(nil, []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %x (%v), want %x", in, got, err, want)
		}
	}
	for _, bad := range []string{``, `{`, `{"a"}`, `[1,]`, `nul`, `"a`, `"\x"`, `-`, `1 2`, `{a:1}`, strings.Repeat("[", 2000)} {
		if got, err := pack.AppendFromJSON(nil, []byte(bad)); err == nil {
			t.Errorf("%.20q: %x", bad, got)
		}
	}
}

func TestWideHeadersAreReadByAnIndependentDecoder(t *testing.T) {
	for _, n := range []int{0, 15, 16, 31, 32, 255, 256, 65535, 65536, 70000} {
		list := make([]int, n)
		m := make(map[string]int, n)
		for i := range n {
			m[strings.Repeat("k", i%40)+string(rune('a'+i%26))+json.Number(strings.Repeat("1", 1+i%3)).String()] = i
		}
		in, err := json.Marshal([]any{list, m, strings.Repeat("s", n)})
		if err != nil {
			t.Fatal(err)
		}
		b, err := pack.AppendFromJSON(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := msgpack.Unmarshal(b, &v); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if back, _ := json.Marshal(v); !bytes.Equal(back, in) {
			t.Fatalf("%d: read back otherwise", n)
		}
		text, err := pack.ToJSON(nil, b, pack.Limits{Elements: 1 << 20})
		if err != nil || !bytes.Equal(compact(t, text), in) {
			t.Fatalf("%d: our own decoder: %v", n, err)
		}
	}
}

func compact(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%.80s: %v", text, err)
	}
	b, _ := json.Marshal(v)
	return b
}

func TestToJSONUnderstandsWhatPeersSend(t *testing.T) {
	for in, want := range map[string]string{
		"\x82\xa1a\xd4\x00\x00\xa1b\x01":           `{"b":1}`,
		"\x82\xa1a\x01\xa1b\xd4\x00\x00":           `{"a":1}`,
		"\x92\xd4\x00\x00\x01":                     `[null,1]`,
		"\xde\x00\x01\xa1a\xc2":                    `{"a":false}`,
		"\xdf\x00\x00\x00\x01\xd9\x01a\xc0":        `{"a":null}`,
		"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00":     `null`,
		"\xca\x7f\x80\x00\x00":                     `null`,
		"\xca\x3f\xc0\x00\x00":                     `1.5`,
		"\xcb\x40\x08\x00\x00\x00\x00\x00\x00":     `3`,
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff":     `18446744073709551615`,
		"\xd3\x80\x00\x00\x00\x00\x00\x00\x00":     `-9223372036854775808`,
		"\xd0\x80":                                 `-128`,
		"\xff":                                     `-1`,
		"\xc4\x03abc":                              `"YWJj"`,
		"\xd6\xff\x00\x00\x00\x00":                 `"1970-01-01T00:00:00Z"`,
		"\xd7\xff\x1d\xcd\x65\x00\x00\x00\x00\x00": `"1970-01-01T00:00:00.125Z"`,
		"\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff": `"1969-12-31T23:59:59Z"`,
		"\xa3\"\\\x01": `"\"\\\u0001"`,
	} {
		got, err := pack.ToJSON(nil, []byte(in), pack.Limits{})
		if err != nil || string(got) != want {
			t.Errorf("%x: %s (%v), want %s", in, got, err, want)
		}
	}
}

func TestB104_BombsAreRefusedWithoutAllocating(t *testing.T) {
	nested := bytes.Repeat([]byte{0x91}, 1<<20)
	wide := append([]byte{0xdd, 0, 0x10, 0, 0}, make([]byte, 1<<20)...)
	for name, row := range map[string]struct {
		in   []byte
		want error
	}{
		"list":      {[]byte{0xdd, 0xff, 0xff, 0xff, 0xff}, pack.ErrTruncated},
		"map":       {[]byte{0xdf, 0x7f, 0xff, 0xff, 0xff}, pack.ErrTruncated},
		"map short": {[]byte{0xde, 0x00, 0x02, 0xa0, 0xc0}, pack.ErrTruncated},
		"text":      {[]byte{0xdb, 0xff, 0xff, 0xff, 0xff}, pack.ErrTruncated},
		"binary":    {[]byte{0xc6, 0xff, 0xff, 0xff, 0xff}, pack.ErrTruncated},
		"extension": {[]byte{0xc9, 0xff, 0xff, 0xff, 0xff, 0}, pack.ErrTruncated},
		"nested":    {nested, pack.ErrTooDeep},
		"wide":      {wide, pack.ErrTooMany},
		"key":       {[]byte{0x81, 0x01, 0x01}, pack.ErrKey},
		"nil key":   {[]byte{0x81, 0xc0, 0x01}, pack.ErrKey},
		"utf-8":     {[]byte{0xa1, 0xff}, pack.ErrUTF8},
		"other ext": {[]byte{0xd4, 0x01, 0x00}, pack.ErrExtension},
		"reserved":  {[]byte{0xc1}, pack.ErrReserved},
		"undefined": {[]byte{0xd4, 0x00, 0x00}, pack.ErrUndefined},
		"two":       {[]byte{0x01, 0x02}, pack.ErrTrailing},
		"empty":     {nil, pack.ErrTruncated},
	} {
		out := make([]byte, 0, 4096)
		var err error
		allocs := testing.AllocsPerRun(10, func() { _, err = pack.ToJSON(out[:0], row.in, pack.Limits{}) })
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
		if allocs > 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func TestCheckJSONAppliesTheSameLimits(t *testing.T) {
	for name, row := range map[string]struct {
		in   string
		want error
	}{
		"fine":              {`{"a":["[[[[",{"b":"\"]]]"}]}`, nil},
		"deep":              {strings.Repeat("[", 101) + strings.Repeat("]", 101), pack.ErrTooDeep},
		"as deep as it may": {strings.Repeat("[", 100) + strings.Repeat("]", 100), nil},
		"many":              {"[" + strings.Repeat("1,", 1<<18) + "1]", pack.ErrTooMany},
		"utf-8":             {"\"\xff\"", pack.ErrUTF8},
		"no JSON":           {`{`, pack.ErrJSON},
		"huge number":       {`1e99999`, nil},
	} {
		if err := pack.CheckJSON([]byte(row.in), pack.Limits{}); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

func TestNumbersBeyondEverything(t *testing.T) {
	b, err := pack.AppendFromJSON(nil, []byte(`[1e99999,-1e99999,1e-99999,12345678901234567890]`))
	if err != nil {
		t.Fatal(err)
	}
	var v []any
	if err := msgpack.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if f, ok := v[0].(float64); !ok || !math.IsInf(f, 1) {
		t.Errorf("1e99999 became %v", v[0])
	}
	if f, ok := v[3].(float64); !ok || f != 12345678901234567890 {
		t.Errorf("a long integer became %v", v[3])
	}
}
