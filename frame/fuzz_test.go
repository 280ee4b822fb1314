package frame_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"turnlog/frame"
)

func seeds(f *testing.F) {
	for _, s := range []string{
		`{"type":"chunk","content":"hi"}`, `{"t\u0079pe":"a","chat\u005fseq":1}`, `{"type":"a","type":"b","chat_seq":[{}]}`,
		` {"type" : "x" , "turn_id":null, "n":-0.5e+10,"l":[1,[],{}],"b":true,"z":null} `, `{}`, `{"type":"\ud83d\ude00\ud83d"}`,
		`{"type":"a","thread_id":"}\"{"}`, "{\"type\":\"\xff\"}", `{"type":"a",}`, `[`, `{"type":"a"}}`, `{"":"","type":"q"}`,
	} {
		f.Add([]byte(s))
	}
}

// FuzzCheck compares with encoding/json: whatever is accepted is JSON with that
// type, stripping removes the stamps and nothing else, and splicing puts them back.
func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		typ, clean, err := frame.Check(b, 0)
		if !bytes.Equal(b, before) {
			t.Fatal("the input was modified")
		}
		var want map[string]any
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		goOK := json.Valid(b) && dec.Decode(&want) == nil && want != nil
		wantType, _ := want["type"].(string)
		if err != nil {
			lone := bytes.Contains(b, []byte(`\u`))
			if goOK && wantType != "" && len(wantType) <= frame.MaxType && utf8.Valid(b) && !lone && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < frame.MaxDepth {
				t.Fatalf("refused %q", b)
			}
			return
		}
		if !goOK || typ != wantType || !utf8.Valid(b) {
			t.Fatalf("accepted %q as %q", b, typ)
		}
		for _, k := range []string{"chat_seq", "thread_id", "turn_id"} {
			delete(want, k)
		}
		same(t, clean, want)
		if again, err := frame.Strip(clean); err != nil || !bytes.Equal(again, clean) {
			t.Fatalf("strip twice: %q, %v", again, err)
		}
		want["thread_id"], want["turn_id"], want["chat_seq"] = "t\n", "ü", json.Number("9007199254740993")
		same(t, frame.Splice(nil, clean, "t\n", "ü", 9007199254740993), want)
		for k, v := range want {
			s, isString := v.(string)
			if _, stamped := map[string]bool{"thread_id": true, "turn_id": true, "chat_seq": true}[k]; stamped {
				continue
			}
			if got, ok := frame.String(clean, k); ok != isString || got != s {
				t.Fatalf("String(%q) = %q, %v; want %q", k, got, ok, s)
			}
		}
	})
}

func same(t *testing.T, b []byte, want map[string]any) {
	t.Helper()
	var got map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q decodes to %v (%v), want %v", b, got, err, want)
	}
}

// FuzzRepair: whatever encoding/json takes for a typed object is a frame after Repair.
func FuzzRepair(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		fixed := frame.Repair(b)
		if !utf8.Valid(fixed) {
			t.Fatalf("%q is not UTF-8", fixed)
		}
		if _, err := frame.Type(b); err == nil && !bytes.Equal(fixed, b) {
			t.Fatalf("a good frame was changed to %q", fixed)
		}
		if json.Valid(b) != json.Valid(fixed) {
			t.Fatalf("%q became %q", b, fixed)
		}
	})
}

// FuzzChunk: any text survives a chunk, except what is not UTF-8.
func FuzzChunk(f *testing.F) {
	f.Add("hi\n\"\\\x00é😀\xff\xc3")
	f.Fuzz(func(t *testing.T, text string) {
		b := frame.Chunk(text)
		var c struct{ Content string }
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		want := string([]rune(text)) // each bad byte becomes U+FFFD
		if c.Content != want {
			t.Fatalf("got %q, want %q", c.Content, want)
		}
		if got, ok := frame.String(b, "content"); !ok || got != want {
			t.Fatalf("String: %q", got)
		}
	})
}
