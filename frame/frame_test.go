package frame_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func nested(n int) string {
	return `{"type":"x","a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		in, typ, clean string
		limit          int
		err            error
	}{
		"plain":                        {in: `{"type":"chunk","content":"hi"}`, typ: "chunk"},
		"white space around":           {in: " {\"type\" :\t\"chunk\" , \"content\": \"\"} \r\n", typ: "chunk", clean: "{\"type\" :\t\"chunk\" , \"content\": \"\"}"},
		"uncommon type":                {in: `{"type":"my_thing"}`, typ: "my_thing"},
		"escaped key":                  {in: `{"t\u0079pe":"a"}`, typ: "a"},
		"escaped value":                {in: `{"type":"a\u00e9\n"}`, typ: "aé\n"},
		"surrogate pair":               {in: `{"type":"\ud83d\ude00"}`, typ: "😀"},
		"last of repeated types":       {in: `{"type":"a","type":"b"}`, typ: "b"},
		"last of repeated is no type":  {in: `{"type":"a","type":7}`, err: frame.ErrInvalid},
		"nested type does not count":   {in: `{"a":{"type":"x"}}`, err: frame.ErrInvalid},
		"case counts":                  {in: `{"Type":"x"}`, err: frame.ErrInvalid},
		"empty type":                   {in: `{"type":""}`, err: frame.ErrInvalid},
		"number as type":               {in: `{"type":1}`, err: frame.ErrInvalid},
		"long type":                    {in: `{"type":"` + strings.Repeat("x", 129) + `"}`, err: frame.ErrInvalid},
		"empty":                        {in: ``, err: frame.ErrInvalid},
		"list":                         {in: `[{"type":"a"}]`, err: frame.ErrInvalid},
		"two objects":                  {in: `{"type":"a"}{"type":"b"}`, err: frame.ErrInvalid},
		"cut":                          {in: `{"type":"a"`, err: frame.ErrInvalid},
		"trailing comma":               {in: `{"type":"a",}`, err: frame.ErrInvalid},
		"leading zero":                 {in: `{"type":"a","n":01}`, err: frame.ErrInvalid},
		"control character":            {in: "{\"type\":\"a\nb\"}", err: frame.ErrInvalid},
		"lone high surrogate":          {in: `{"type":"a","c":"\ud83d"}`, err: frame.ErrInvalid},
		"lone low surrogate":           {in: `{"type":"a","c":"\ude00"}`, err: frame.ErrInvalid},
		"two high surrogates":          {in: `{"type":"a","c":"\ud83d\ud83d"}`, err: frame.ErrInvalid},
		"invalid UTF-8":                {in: "{\"type\":\"a\",\"c\":\"\xff\"}", err: frame.ErrInvalid},
		"surrogate as raw bytes":       {in: "{\"type\":\"a\",\"c\":\"\xed\xa0\x80\"}", err: frame.ErrInvalid},
		"deep enough":                  {in: nested(127), typ: "x"},
		"too deep":                     {in: nested(128), err: frame.ErrInvalid},
		"absurdly deep":                {in: nested(1_000_000), err: frame.ErrInvalid},
		"huge number":                  {in: `{"type":"a","n":123456789012345678901234567890e999}`, typ: "a"},
		"stamps first":                 {in: `{"chat_seq":1,"thread_id":"t","turn_id":"u","type":"a"}`, typ: "a", clean: `{"type":"a"}`},
		"stamps last":                  {in: `{"type":"a","l":[],"chat_seq":1}`, typ: "a", clean: `{"type":"a","l":[]}`},
		"stamps between, repeated":     {in: `{"chat_seq":[1,{"x":2}],"type":"a", "chat_seq" : 3 ,"b":1}`, typ: "a", clean: `{"type":"a","b":1}`},
		"escaped stamp":                {in: `{"type":"a","chat\u005fseq":1}`, typ: "a", clean: `{"type":"a"}`},
		"nested stamps stay":           {in: `{"type":"a","x":{"chat_seq":1}}`, typ: "a"},
		"at the limit":                 {in: `{"type":"a"}`, typ: "a", limit: 12},
		"over the limit":               {in: `{"type":"a" }`, limit: 12, err: frame.ErrTooLarge},
		"stamps do not count":          {in: `{"type":"a","chat_seq":1}`, typ: "a", clean: `{"type":"a"}`, limit: 12},
		"far over the limit, unlooked": {in: strings.Repeat("x", 1000), limit: 12, err: frame.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.clean == "" {
				tc.clean = tc.in
			}
			typ, clean, err := frame.Check([]byte(tc.in), tc.limit)
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if err != nil {
				return
			}
			if typ != tc.typ || string(clean) != tc.clean {
				t.Fatalf("got %q %s, want %q %s", typ, clean, tc.typ, tc.clean)
			}
		})
	}
}

func TestStripReturnsTheSameBytesWhenThereIsNothingToStrip(t *testing.T) {
	in := []byte(`{"type":"a","b":[]}`)
	out, err := frame.Strip(in)
	if err != nil || &out[0] != &in[0] || len(out) != len(in) {
		t.Fatalf("got %s, %v", out, err)
	}
}

func TestWithoutTakesAKeyOutAndLeavesTheRest(t *testing.T) {
	for in, want := range map[string]string{
		` {"type":"m", "n":1e400 ,"a":[ ]} `: `{"n":1e400,"a":[ ]}`,
		`{"a":1,"type":"m","type":2}`:        `{"a":1}`,
		`{"ty\u0070e":"m"}`:                  `{}`,
		`{"a":{"type":"m"}}`:                 `{"a":{"type":"m"}}`,
		` ["type"] `:                         `["type"]`,
		`{"type":`:                           `{"type":`,
	} {
		b := []byte(in)
		got := frame.Without(b, "type")
		if string(got) != want || string(b) != in {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestSpliceEpoch(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"a"}`: `x{"type":"a","thread_id":"t","turn_id":"u","chat_seq":7,"epoch":"e\"1"}`,
		`{}`:           `x{"thread_id":"t","turn_id":"u","chat_seq":7,"epoch":"e\"1"}`,
		`?`:            `x?`,
	} {
		if got := frame.SpliceEpoch([]byte("x"), []byte(in), "t", "u", 7, `e"1`); string(got) != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestSplice(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain":                {`{"type":"a"}`, `{"type":"a","thread_id":"t\"1","turn_id":"u","chat_seq":7}`},
		"white space":          {"{\"type\":\"a\" }\n", `{"type":"a" ,"thread_id":"t\"1","turn_id":"u","chat_seq":7}`},
		"brace at end of text": {`{"type":"}"}`, `{"type":"}","thread_id":"t\"1","turn_id":"u","chat_seq":7}`},
		"empty object":         {`{ }`, `{ "thread_id":"t\"1","turn_id":"u","chat_seq":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := frame.Splice([]byte("x"), []byte(tc.in), `t"1`, "u", 7)
			if string(got) != "x"+tc.want {
				t.Fatalf("got %s", got)
			}
			if !json.Valid(got[1:]) {
				t.Fatalf("not JSON: %s", got)
			}
		})
	}
}

func TestStringAndRaw(t *testing.T) {
	in := []byte(`{"a":"x","b":{"a":"no"},"a":"l\u00e4st","n":1,"e":""}`)
	if got, ok := frame.String(in, "a"); !ok || got != "läst" {
		t.Errorf("a = %q %v", got, ok)
	}
	if got, ok := frame.String(in, "e"); !ok || got != "" {
		t.Errorf("e = %q %v", got, ok)
	}
	if _, ok := frame.String(in, "n"); ok {
		t.Error("a number passed as a string")
	}
	if _, ok := frame.String(in, "missing"); ok {
		t.Error("a missing key was found")
	}
	if got, ok := frame.Raw(in, "b"); !ok || string(got) != `{"a":"no"}` {
		t.Errorf("b = %s %v", got, ok)
	}
	if _, ok := frame.Raw([]byte(`{"a":1`), "a"); ok {
		t.Error("a cut object was read")
	}
}

func TestConstructorsMakeFrames(t *testing.T) {
	text := "a\"\\\n\t\x01é😀<&>\u2028"
	for name, tc := range map[string]struct {
		got  []byte
		want string
	}{
		"chunk":              {frame.Chunk(text), `{"type":"chunk","content":"a\"\\\n\t\u0001é😀<&>` + "\u2028" + `"}`},
		"bad text":           {frame.Chunk("a\xffb\xc3"), `{"type":"chunk","content":"a` + "\ufffdb\ufffd" + `"}`},
		"done":               {frame.Done(), `{"type":"chunk","content":"","done":true}`},
		"message":            {frame.Message("x", true, true), `{"type":"message","role":"assistant","content":"x","truncated":true,"partial":true}`},
		"error":              {frame.Error("m", "t"), `{"type":"error","message":"m","error_type":"t"}`},
		"error without type": {frame.Error("m", ""), `{"type":"error","message":"m"}`},
		"finished":           {frame.TurnFinished("completed", "", nil), `{"type":"turn_finished","outcome":"completed"}`},
		"failed":             {frame.TurnFinished("failed", "e", json.RawMessage(`{"a":1}`)), `{"type":"turn_finished","outcome":"failed","error":"e","usage":{"a":1}}`},
		"stopped":            {frame.GenerationStopped("m"), `{"type":"generation_stopped","message":"m","job_id":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			if string(tc.got) != tc.want {
				t.Errorf("got  %s\nwant %s", tc.got, tc.want)
			}
			if _, err := frame.Type(tc.got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRepair(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"nothing to do":  {`{"type":"a","c":"\ud83d\ude00 \\ud83d"}`, `{"type":"a","c":"\ud83d\ude00 \\ud83d"}`},
		"lone high":      {`{"type":"a","c":"\ud83d"}`, `{"type":"a","c":"\ufffd"}`},
		"lone low":       {`{"type":"a","c":"\ude00x"}`, `{"type":"a","c":"\ufffdx"}`},
		"high then pair": {`{"type":"a","c":"\ud83d\ud83d\ude00"}`, `{"type":"a","c":"\ufffd\ud83d\ude00"}`},
		"bytes":          {"{\"type\":\"a\",\"c\":\"\xff\"}", "{\"type\":\"a\",\"c\":\"\ufffd\"}"},
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(tc.in)
			got := frame.Repair(in)
			if string(got) != tc.want || string(in) != tc.in {
				t.Fatalf("got %s, input now %s", got, in)
			}
			if _, err := frame.Type(got); err != nil {
				t.Fatal(err)
			}
		})
	}
}
