package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"turnlog/e2e/wire"
)

func TestB105_EveryAdaptersTextArrivesByteForByteWhereverItWasCut(t *testing.T) {
	t.Parallel()
	f := theWorkshop(t, longTool, longRetention)
	adapted(t, f, scripted, func(t *testing.T, r row) {
		a, b := r.dial(0), r.dial(1)
		b.ok("follow", object{"thread_id": "t"})
		turn, _ := r.say(a, "t", "split "+sample)
		for _, v := range []*viewer{a, b} {
			r.completed(v, "t", turn, sample)
			got := strings.ReplaceAll(v.text("t", turn), "\n", "")
			if n := len(got) / len(sample); got != strings.Repeat(sample, n) || n < len(sample)-1 {
				t.Errorf("text %q is not %q, over and over, at least %d times", got, sample, len(sample)-1)
			}
			message := v.await("t", "message", func(m wire.Message) bool {
				return m.Type == "message" && m.Str("role") == "assistant" || m.Type == "turn_finished"
			})
			if kept := message.Str("content"); message.Type == "message" && strings.ReplaceAll(kept, "\n", "") != got {
				t.Errorf("the message is %q, the text was %q", kept, got)
			}
		}
		f.validUTF8(t, r.user)
	})
}

func TestB105_NoAdapterLetsInvalidUTF8IntoTheLog(t *testing.T) {
	t.Parallel()
	f := theWorkshop(t, longTool, longRetention)
	adapted(t, f, scripted, func(t *testing.T, r row) {
		a, b := r.dial(0), r.dial(1)
		b.ok("follow", object{"thread_id": "t"})
		turn, _ := r.say(a, "t", "invalid")
		for _, v := range []*viewer{a, b} {
			r.completed(v, "t", turn, "bad ")
			if got := v.text("t", turn); !strings.ContainsRune(got, utf8.RuneError) {
				t.Errorf("text %q, want replacements", got)
			}
		}
		f.validUTF8(t, r.user)
	})
}

// validUTF8 looks at everything that Redis holds about a user.
func (p *place) validUTF8(t testing.TB, user string) {
	t.Helper()
	ctx := context.Background()
	keys, err := p.redis.own.Keys(ctx, "turnlog:{*}:"+user+"/*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	streams := 0
	for _, key := range keys {
		kind, err := p.redis.own.Type(ctx, key).Result()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		switch kind {
		case "stream":
			streams++
			entries, err := p.redis.own.XRange(ctx, key, "-", "+").Result()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				for name, value := range e.Values {
					all = append(all, name, fmt.Sprint(value))
				}
			}
		case "hash":
			fields, err := p.redis.own.HGetAll(ctx, key).Result()
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range fields {
				all = append(all, name, value)
			}
		}
		for _, text := range all {
			if !utf8.ValidString(text) {
				t.Errorf("%s holds %q", key, text)
			}
		}
	}
	if streams == 0 {
		t.Error("no log was looked at")
	}
}
