package pack_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"turnlog/wsapi/pack"
)

// FuzzInboundMsgpack: whatever comes in, the result is valid bounded JSON or an
// error, and what was accepted can go out again.
func FuzzInboundMsgpack(f *testing.F) {
	for _, seed := range []string{
		"\x82\xa1a\xd4\x00\x00\xa1b\x01", "\xdd\xff\xff\xff\xff", "\xde\x00\x01\xa1a\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",
		"\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "\xc4\x03abc",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		text, err := pack.ToJSON(nil, in, pack.Limits{})
		if err != nil {
			return
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("not JSON: %q", text)
		}
		if len(text) > 25*len(in)+10 {
			t.Fatalf("%d bytes out of %d", len(text), len(in))
		}
		again(t, text)
	})
}

// again sends accepted JSON out and reads it back: the second time nothing changes.
func again(t *testing.T, text []byte) {
	t.Helper()
	limits := pack.Limits{Depth: 1000, Elements: 1 << 24}
	b, err := pack.AppendFromJSON(nil, text)
	if err != nil {
		t.Fatalf("out again: %v: %q", err, text)
	}
	once, err := pack.ToJSON(nil, b, limits)
	if err != nil {
		t.Fatalf("in again: %v: %x", err, b)
	}
	if b, err = pack.AppendFromJSON(nil, once); err != nil {
		t.Fatal(err)
	}
	twice, err := pack.ToJSON(nil, b, limits)
	if err != nil || string(once) != string(twice) {
		t.Fatalf("%q, then %q (%v)", once, twice, err)
	}
}

// FuzzOutboundJSON: every JSON text that is accepted inbound can go out.
func FuzzOutboundJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-1,1e3,"\ud83d\ude00"]}`, `"\ud800"`, `-0`, `[[],{}]`, `1e999`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if pack.CheckJSON(text, pack.Limits{}) == nil {
			again(t, text)
		}
	})
}
