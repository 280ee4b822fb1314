package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/internal/netproxy"
	proc "turnlog/internal/process"
)

// adapter is a way to plug an agent in, as a row of the tests below. Every row's
// agent does what the first word of the message says.
type adapter struct {
	name  string // of the row
	agent string // in chat_message
	first int    // its pair of nodes begins here
	model bool   // an OpenAI-compatible provider: takes a steer when an answer ends
	mock  bool   // the provider is aimock, which only calls tools
	pipe  bool   // a steer that was written to an agent which ends without reading is lost, as docs/agents.md says

	breaks []broken
}

// broken is a way to break a turn.
type broken struct {
	word string
	kind string // error_type, "" = none
}

var adapters = []adapter{
	{name: "command", agent: "command", pipe: true, breaks: []broken{{"oversized", ""}, {"invalid-frame", ""}, {"reserved", ""}, {"exit", ""}, {"killed", ""}}},
	{name: "openai", agent: "openai", model: true, breaks: []broken{
		{"garbage", "invalid_answer"}, {"error-event", "server_error"}, {"reset", ""}, {"status-500", ""}, {"oversized-arguments", "invalid_answer"},
	}},
	{name: "openai (aimock)", agent: "aimock", model: true, mock: true},
	{name: "webhook (JSON lines)", agent: "webhook", breaks: webhookBreaks},
	{name: "webhook (events)", agent: "events", breaks: webhookBreaks},
	{name: "Go", agent: "go", first: 2, breaks: []broken{{"oversized", ""}, {"invalid-frame", ""}, {"reserved", ""}, {"panic", ""}, {"error", "out_of_cheese"}}},
}

var webhookBreaks = []broken{
	{"oversized", ""}, {"invalid-frame", ""}, {"reserved", ""}, {"garbage", ""}, {"reset", "webhook_unreachable"}, {"status-500", "webhook_refused"}, {"end-error", "out_of_cheese"},
}

// adapted runs a test for every adapter that can do what it is about.
func adapted(t *testing.T, f *workshop, can func(adapter) bool, test func(t *testing.T, r row)) {
	t.Helper()
	for _, a := range adapters {
		if can(a) {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				test(t, row{t: t, adapter: a, shop: f, user: someone()})
			})
		}
	}
}

func all(adapter) bool        { return true }
func scripted(a adapter) bool { return !a.mock }

// workshop is what serves all adapters: two nodes of the program, two of a Go program
// with agents of its own, all on one Redis, and what stands behind the agents.
type workshop struct {
	*place
	up   *upstream
	nets []*netproxy.Proxy // between node i and Redis, nil without proxies
	run  []func() (*node, error)
}

var workshops = struct {
	sync.Mutex
	made map[string]*workshop
}{made: map[string]*workshop{}}

// theWorkshop gives the workshop that tests with these times share.
func theWorkshop(t testing.TB, tool, retention time.Duration) *workshop {
	t.Helper()
	key := fmt.Sprint("adapters ", tool, retention)
	workshops.Lock()
	defer workshops.Unlock()
	if f := workshops.made[key]; f != nil {
		return f
	}
	f, err := startWorkshop(tool, retention, false)
	if err != nil {
		t.Fatal(err)
	}
	workshops.made[key] = f
	shared.Lock()
	defer shared.Unlock()
	if shared.places == nil {
		shared.places = map[string]func() (*place, error){}
	}
	shared.places[key] = func() (*place, error) { return f.place, nil }
	return f
}

func startWorkshop(tool, retention time.Duration, proxied bool) (f *workshop, err error) {
	f = &workshop{place: &place{name: "adapters"}, up: newUpstream()}
	f.also = append(f.also, f.up.server.Close)
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.redis, err = startRedis(); err != nil {
		return nil, err
	}
	mock, err := f.startMock()
	if err != nil {
		return nil, err
	}
	config, err := f.config(mock)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for i := range 4 {
		url := f.redis.url()
		if proxied {
			proxy, err := netproxy.Start(f.redis.addr, netproxy.Options{Framing: netproxy.RESP})
			if err != nil {
				return nil, err
			}
			f.also = append(f.also, proxy.Close)
			f.nets = append(f.nets, proxy)
			url = "redis://" + proxy.Addr()
		}
		f.run = append(f.run, func() (*node, error) {
			if i < 2 {
				return serve("--redis", url, "--config", config, "--turn.tool_timeout", tool.String(), "--replay.retention", retention.String(), "--limits.frame_bytes", "64KiB")
			}
			return serveProgram(self, goNode, url, f.up.server.URL, tool.String(), retention.String())
		})
	}
	f.nodes = make([]*node, 4)
	errs := make([]error, 4)
	var starting sync.WaitGroup
	for i, run := range f.run {
		starting.Go(func() { f.nodes[i], errs[i] = run() })
	}
	starting.Wait()
	up := f.nodes[:0:0]
	for i, n := range f.nodes {
		if errs[i] != nil {
			err = errs[i]
		} else {
			up = append(up, n)
		}
	}
	f.nodes = up
	return f, err
}

// config writes the file of the program's nodes.
func (f *workshop) config(mock string) (path string, err error) {
	script, err := filepath.Abs("testdata/adapters/agent.py")
	if err != nil {
		return "", err
	}
	lines := fmt.Sprintf(`agents:
  - {name: command, type: command, command: [python3, %q, %q]}
  - {name: openai, type: openai, base_url: %q, model: m, approve: [rm], retries: 1}
  - {name: aimock, type: openai, base_url: %q, model: gpt-4o, approve: [rm], history_messages: -1}
  - {name: webhook, type: webhook, url: %q, inputs: true}
  - {name: events, type: webhook, url: %q, inputs: true}
`, script, f.up.server.URL, f.up.server.URL+"/v1", mock, f.up.server.URL+"/turn", f.up.server.URL+"/turn?events=1")
	file, err := os.CreateTemp(builtDir, "adapters-*.yaml")
	if err != nil {
		return "", err
	}
	if _, err := file.WriteString(lines); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// startMock runs the OpenAI-compatible server that this project did not write.
func (f *workshop) startMock() (url string, err error) {
	program := filepath.Join("..", "agent", "openai", "testdata", "aimock", "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("aimock is not installed, run `make deps`: %w", err)
	}
	addr, err := proc.FreeAddr()
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	mock, err := spawn(nil, "node", program, "--port", port, "--fixtures", "testdata/adapters/aimock.json", "--chunk-size", "3", "--strict", "--validate-on-load")
	if err != nil {
		return "", err
	}
	f.also = append(f.also, mock.kill)
	url = "http://" + addr
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for begun := time.Now(); time.Since(begun) < patience; <-time.After(20 * time.Millisecond) {
		if res, err := client.Get(url + "/health"); err == nil {
			_ = res.Body.Close()
			return url + "/v1", nil
		}
	}
	return "", fmt.Errorf("aimock did not start: %s%s", mock.stdout, mock.stderr)
}

// row is an adapter under test, with a user of its own.
type row struct {
	adapter
	t    testing.TB
	shop *workshop
	user string
}

// dial opens a socket at the i-th of the adapter's two nodes, with the client's tools.
func (r row) dial(i int) *viewer {
	r.t.Helper()
	v := dial(r.t, r.shop.nodes[r.first+i].url(r.user, ""))
	var tools []any
	for _, name := range []string{"clock", "rm"} {
		tools = append(tools, object{"name": name, "description": "", "parameters": object{"type": "object"}})
	}
	v.answer("client_tools_manifest", object{"tools": tools})
	v.settle()
	return v
}

// say has the agent do something; the turn goes on unwatched.
func (r row) say(v *viewer, thread, what string) (turn string, resume object) {
	r.t.Helper()
	ack := v.say(thread, nil, object{"content": what, "agent": r.agent, "on_disconnect": "preserve"})
	return ack.Turn, object{"last_seq": 1, "epoch": ack.Str("epoch")}
}

// completed wants the turn to end well, having said something.
func (r row) completed(v *viewer, thread, turn, said string) {
	r.t.Helper()
	end := v.end(thread, turn)
	if got := v.text(thread, turn); end.Str("outcome") != "completed" || !strings.Contains(got, said) {
		r.t.Errorf("%s: said %q, want %q, and ended %s", thread, got, said, end)
	}
}
