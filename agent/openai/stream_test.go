package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"turnlog/agent/openai"
)

func TestB105_StreamCutAtEveryByteArrivesByteEqual(t *testing.T) {
	const want = "aé世😀<&>\u2028z"
	whole := ": keep-alive\n\n" + text("aé世") + ": ping\r\n\r\n" + text("😀<&>\u2028z") + finish("stop") + done
	for cut := 1; cut < len(whole); cut++ {
		p := newProvider(t, stream(whole[:cut], whole[cut:]))
		turn := newTurn("hi", "", "")
		if err := p.agent(t, openai.Options{}).Run(t.Context(), turn); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if turn.Text() != want || turn.Message() != want {
			t.Fatalf("cut at %d: %q", cut, turn.Text())
		}
	}
}

func TestB105_DeltasCutWithinCharactersArriveByteEqual(t *testing.T) {
	const want = "é世😀!"
	for cut := range len(want) + 1 { // raw bytes: what some servers send
		p := newProvider(t, stream(event(`{"content":"`+want[:cut]+`"}`), event(`{"content":"`+want[cut:]+`"}`), finish("stop"), done))
		turn := newTurn("hi", "", "")
		if err := p.agent(t, openai.Options{}).Run(t.Context(), turn); err != nil || turn.Text() != want || turn.Message() != want {
			t.Fatalf("cut at %d: %q %v", cut, turn.Text(), err)
		}
	}
	for in, want := range map[string]string{
		`\ud83d|\ude00`:           "😀", // escaped halves
		`a\ud83d|\ude00b\n\t\"\/`: "a😀b\n\t\"/",
		`\ud83d|x`:                "\ufffdx",
		`\ude00|x`:                "\ufffdx",
		`x|\ud83d`:                "x\ufffd",
		"\xff|\xf0\x9f":           "\ufffd\ufffd\ufffd",
		`\u00e9\\u0041|`:          `é\u0041`,
	} {
		var parts []string
		for _, piece := range strings.Split(in, "|") {
			parts = append(parts, event(`{"content":"`+piece+`"}`))
		}
		turn := newTurn("hi", "", "")
		err := newProvider(t, stream(append(parts, finish("stop"), done)...)).agent(t, openai.Options{}).Run(t.Context(), turn)
		if err != nil || turn.Text() != want || !utf8.ValidString(turn.Text()) {
			t.Errorf("%s: %q %v", in, turn.Text(), err)
		}
	}
}

func TestStreamsThatEndInTheirOwnWay(t *testing.T) {
	for name, tc := range map[string]struct {
		parts []string
		fault string // "" = completed
	}{
		"end mark missing":         {[]string{text("word"), finish("stop")}, ""},
		"finish reason missing":    {[]string{text("word"), done}, ""},
		"usage-only last chunk":    {[]string{text("word"), finish("stop"), used(1, 2), done}, ""},
		"usage after the end mark": {[]string{text("word"), finish("stop"), done, used(1, 2)}, ""},
		"CRLF":                     {[]string{strings.ReplaceAll(text("word")+finish("stop")+done, "\n", "\r\n")}, ""},
		"no space after data":      {[]string{strings.ReplaceAll(text("word")+finish("stop")+done, "data: ", "data:")}, ""},
		"named events":             {[]string{"event: message\nid: 1\nretry: 5\n" + text("word"), finish("stop"), done}, ""},
		"second choice ignored":    {[]string{text("word"), strings.Replace(text("no"), `"index":0`, `"index":1`, 1), finish("stop"), done}, ""},
		"cut off":                  {[]string{text("word")}, "stream_ended"},
		"cut within an event":      {[]string{text("word"), `data: {"choices":[{"ind`}, "stream_ended"},
		"error in mid-stream":      {[]string{text("word"), `data: {"error":{"message":"overloaded","type":"server_error","code":503}}` + "\n\n"}, "server_error"},
		"error as text":            {[]string{text("word"), `data: {"error":"overloaded"}` + "\n\n"}, "provider_error"},
		"not JSON":                 {[]string{text("word"), "data: {broken\n\n"}, "invalid_answer"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, stream(tc.parts...), stream(text("again"), finish("stop"), done))
			turn := newTurn("hi", "", "")
			err := p.agent(t, openai.Options{}).Run(t.Context(), turn)
			switch {
			case tc.fault == "" && (err != nil || turn.Message() != "word"):
				t.Fatalf("%v, %s", err, turn.Frames())
			case tc.fault != "":
				status := 0
				if strings.Contains(fmt.Sprint(tc.parts), "503") {
					status = 503
				}
				wantFault(t, err, tc.fault, status)
			}
			if turn.Text() != "word" || p.asked() != 1 {
				t.Fatalf("said %q, asked %d times: nothing may be said twice", turn.Text(), p.asked())
			}
		})
	}
}

func TestRefusalsAreRetriedBeforeTheFirstDelta(t *testing.T) {
	refuse := func(status int, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	good := stream(text("good"), finish("stop"), done)
	hangUp := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
	for name, tc := range map[string]struct {
		scripts []http.HandlerFunc
		asked   int
		fault   string
		status  int
		says    string
	}{
		"429 with Retry-After":      {[]http.HandlerFunc{refuse(429, `{}`, "Retry-After", "0.05"), good}, 2, "", 0, ""},
		"503 twice":                 {[]http.HandlerFunc{refuse(503, `x`), refuse(503, `x`), good}, 3, "", 0, ""},
		"hung up":                   {[]http.HandlerFunc{hangUp, good}, 2, "", 0, ""},
		"error as the first event":  {[]http.HandlerFunc{stream("data: {\"error\":{\"message\":\"busy\",\"code\":\"502\"}}\n\n"), good}, 2, "", 0, ""},
		"empty stream":              {[]http.HandlerFunc{stream(": nothing\n\n"), good}, 2, "", 0, ""},
		"retries used up":           {[]http.HandlerFunc{refuse(500, ``), refuse(500, ``), refuse(500, `{"error":{"message":"dead","type":"oops"}}`)}, 3, "oops", 500, "dead"},
		"asks for too much":         {[]http.HandlerFunc{refuse(429, `{"error":{"message":"slow down","code":"rate_limited"}}`, "Retry-After", "3600")}, 1, "rate_limited", 429, "slow down"},
		"wrong request":             {[]http.HandlerFunc{refuse(400, `{"error":{"message":"no such model","type":"invalid_request_error"}}`)}, 1, "invalid_request_error", 400, "no such model"},
		"plain error":               {[]http.HandlerFunc{refuse(404, `{"error":"model not found"}`)}, 1, "invalid_request_error", 404, "model not found"},
		"key refused":               {[]http.HandlerFunc{refuse(401, `{"error":{"message":"Incorrect key: sk-secret"}}`)}, 1, "authentication_error", 401, "credentials"},
		"told not to":               {[]http.HandlerFunc{refuse(500, ``, "X-Should-Retry", "false")}, 1, "server_error", 500, ""},
		"answer that is no stream":  {[]http.HandlerFunc{refuse(200, `{"choices":[]}`), refuse(200, `{}`), refuse(200, `{}`)}, 3, "invalid_answer", 0, ""},
		"unreachable in the middle": {[]http.HandlerFunc{refuse(502, `<html>`), hangUp, good}, 3, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, tc.scripts...)
			turn := newTurn("hi", "", "")
			began := time.Now()
			err := p.agent(t, openai.Options{APIKey: "sk-secret"}).Run(t.Context(), turn)
			if tc.fault == "" {
				if err != nil || turn.Text() != "good" {
					t.Fatalf("%v, %s", err, turn.Frames())
				}
			} else if fault := wantFault(t, err, tc.fault, tc.status); !strings.Contains(fault.Message, tc.says) || strings.Contains(fault.Message, "sk-") {
				t.Fatalf("says %q", fault.Message)
			}
			if p.asked() != tc.asked {
				t.Errorf("asked %d times", p.asked())
			}
			if strings.Contains(name, "with Retry-After") && time.Since(began) < 50*time.Millisecond {
				t.Error("did not wait as long as it was asked to")
			}
		})
	}
}
