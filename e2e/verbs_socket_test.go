package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"turnlog/e2e/wire"
)

// socketVerb is a command on a thread.
type socketVerb struct {
	data   object // TURN is filled in
	begins bool   // a turn of whoever asks, whose frames come when they come
	steps  int    // see httpVerb
}

// socketVerbs are all commands.
var socketVerbs = map[string]socketVerb{
	"chat_message":        {data: object{"content": "x", "on_busy": "reject", "demo": object{"frames": 1}}, begins: true, steps: 20},
	"resume_chat":         {data: object{"last_seq": 1}, steps: 10},
	"follow":              {steps: 10},
	"unfollow":            {},
	"list_chat_turns":     {},
	"steer":               {data: object{"content": "left", "turn_id": "TURN"}, begins: true, steps: 10},
	"set_policy":          {data: object{"on_disconnect": "preserve"}},
	"set_permission_mode": {data: object{"permission_mode": "ask"}},
	"set_mode":            {data: object{"mode": "text"}},
	"stop":                {data: object{"turn_id": "TURN"}},
}

// controlVerbs are all frames that answer a request.
var controlVerbs = map[string]object{
	"tool_result":             {"tool_call_id": "REQUEST", "ok": true, "result": 1},
	"tool_approval_response":  {"approval_id": "REQUEST", "decision": "allow"},
	"plan_approval_response":  {"approval_id": "REQUEST", "decision": "approve"},
	"secret_request_response": {"approval_id": "REQUEST", "status": "provided"},
}

// table reads the keys of a map literal in the code, so that what is added there must be walked here.
func table(t testing.TB, file, name string) []string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(source), "var "+name+" = map[string]")
	body, _, ended := strings.Cut(body, "\n}\n")
	if !found || !ended {
		t.Fatalf("%s has no table %s", file, name)
	}
	var keys []string
	for _, m := range regexp.MustCompile(`(?m)^\t"(\w+)":`).FindAllStringSubmatch(body, -1) {
		keys = append(keys, m[1])
	}
	slices.Sort(keys)
	return keys
}

// fill puts names into data.
func fill(data object, names *strings.Replacer) object {
	out := object{}
	for k, v := range data {
		if s, ok := v.(string); ok {
			v = names.Replace(s)
		}
		out[k] = v
	}
	return out
}

// told is what a socket was told since a mark, with or without numbered frames, up to and
// without the answer to the round trip that is made to know that all of it is there.
func told(v *viewer, mark int, frames bool) string {
	v.t.Helper()
	id, err := v.Command("set_mode", object{"mode": "text"})
	if err != nil {
		v.t.Fatal(err)
	}
	end, _, err := v.Await(mark, wire.Patience, func(m wire.Message) bool { return m.Ack(id) })
	if err != nil {
		v.t.Fatalf("%v\n%s", err, v.recent())
	}
	var b strings.Builder
	for _, m := range v.Messages()[mark : end-1] {
		if m.Type == "ping" || m.Seq > 0 && !frames {
			continue
		}
		delete(m.Object, "request_id")
		fmt.Fprintln(&b, m.String())
	}
	return b.String()
}

func TestB100_EveryCommandOnSomebodyElsesThreadIsLikeOnNone(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(socketVerbs)), table(t, "../wsapi/command.go", "commands"); !slices.Equal(got, want) {
		t.Fatalf("walked %v, the protocol has %v", got, want)
	}
	if got, want := slices.Sorted(maps.Keys(controlVerbs)), table(t, "../wsapi/control.go", "answers"); !slices.Equal(got, want) {
		t.Fatalf("walked %v, the protocol has %v", got, want)
	}
	v := startVerbs(t)
	watch := v.redis.watch(t)
	const missing = "zzzz"
	names := strings.NewReplacer("TURN", v.turn, "REQUEST", v.request)
	walk := func(what string, verb socketVerb, user string, act func(b *viewer, thread string)) {
		t.Helper()
		warm := dialWith(t, v.nodes[0].ws(), withToken(v.passes.good(t, user+"x")))
		act(warm, missing) // the server has its scripts
		warm.settle()
		hear := func(thread string) (said string, did []string) {
			b := dialWith(t, v.nodes[0].ws(), withToken(v.passes.good(t, user)))
			b.settle()
			mark := b.Mark()
			did = watch.during(t, user+"/"+thread, func() {
				act(b, thread)
				said = told(b, mark, !verb.begins)
			})
			return said, first(did, verb.steps)
		}
		otherSaid, otherDid := hear("hers")
		noneSaid, noneDid := hear(missing)
		if alike(otherSaid, "hers") != alike(noneSaid, missing) {
			t.Errorf("%s on somebody else's thread is told\n%son none\n%s", what, otherSaid, noneSaid)
		}
		if strings.Contains(otherSaid, v.turn) || strings.Contains(otherSaid, v.request) {
			t.Errorf("%s tells of ann's turn: %s", what, otherSaid)
		}
		if a, b := alikeAll(otherDid, "hers"), alikeAll(noneDid, missing); !slices.Equal(a, b) {
			t.Errorf("%s on somebody else's thread takes %d steps, on none %d\n%s\n\n%s", what, len(a), len(b), strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(socketVerbs)) {
		verb := socketVerbs[name]
		n++
		walk(name, verb, fmt.Sprintf("bob%d", n), func(b *viewer, thread string) {
			data := fill(verb.data, names)
			data["thread_id"] = thread
			if name == "list_chat_turns" || name == "set_mode" {
				delete(data, "thread_id")
			}
			b.do(name, data)
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(controlVerbs)) {
		for _, where := range []bool{true, false} { // with and without the thread's id
			n++
			walk(fmt.Sprint(kind, where), socketVerb{}, fmt.Sprintf("bob%d", n), func(b *viewer, thread string) {
				frame := fill(controlVerbs[kind], names)
				frame["type"] = kind
				if where {
					frame["thread_id"] = thread
				}
				if err := b.Send(frame); err != nil {
					t.Fatal(err)
				}
			})
		}
	}

	// All of it has changed nothing for ann, and her own commands do what they say.
	a := dialWith(t, v.nodes[0].ws(), withToken(v.passes.good(t, "ann")))
	a.resume("hers")
	if h := a.header("hers"); h.Str("status") != "running" || h.Turn != v.turn {
		t.Errorf("ann's thread is %s", h)
	}
	if got := a.typed("hers", "request_open"); got.Str("request_id") != v.request {
		t.Errorf("ann's request is %s, not %s", got, v.request)
	}
	for _, name := range []string{"list_chat_turns", "follow", "steer", "set_policy", "set_permission_mode", "set_mode", "unfollow", "resume_chat", "stop"} {
		data := fill(socketVerbs[name].data, names)
		if name != "list_chat_turns" && name != "set_mode" {
			data["thread_id"] = "hers"
		}
		a.ok(name, data)
	}
	if end := a.end("hers", v.turn); end.Str("outcome") != "stopped" {
		t.Errorf("ann's turn ended %s", end)
	}
}
