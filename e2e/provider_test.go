package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// providerClient is the word that turns the test program into an agent's program: one that asks a
// model provider over HTTP and prints what comes.
const providerClient = "provider-client"

func askProvider(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer resp.Body.Close()
	if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
		return 1
	}
	return 0
}

// provider is a model that talks until nobody listens.
func provider(t *testing.T) (url string, asked, hungUp chan struct{}) {
	t.Helper()
	asked, hungUp = make(chan struct{}, 1024), make(chan struct{}, 1024)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		_, _ = io.WriteString(w, "talking\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		hungUp <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked, hungUp
}

func withProvider(t *testing.T, kind, url string) *place {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return own(t, kind, "--agent", "command", "--agent.stdin", "text", "--turn.stop_timeout", "5s", "--", self, providerClient, url)
}

// receive waits for a signal of the provider.
func receive(t *testing.T, ch chan struct{}, what string) {
	t.Helper()
	eventually(t, what, func() bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	})
}

func TestF13_AStopAfterAResumeCancelsTheProvidersRequest(t *testing.T) {
	for _, kind := range []string{embedded, twoNodes} {
		t.Run(kind, func(t *testing.T) {
			url, asked, hungUp := provider(t)
			p := withProvider(t, kind, url)
			user := someone()
			a := dial(t, p.url(0, user))
			ack := a.say("t", nil)
			receive(t, asked, "the provider is asked")
			a.typed("t", "chunk")
			a.Cut()
			b := dial(t, p.url(1, user))
			b.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
			b.ok("stop", object{"thread_id": "t"})
			if end := b.end("t", ack.Turn); end.Str("outcome") != "stopped" {
				t.Errorf("end %s", end)
			}
			receive(t, hungUp, "the provider's request is cancelled")
			eventually(t, "the program is gone", func() bool { return len(children(t, p.nodes[0])) == 0 })
		})
	}
}

func TestF14_SupersedingAcrossNodesFreesTheOldAgent(t *testing.T) {
	url, asked, hungUp := provider(t)
	p := withProvider(t, twoNodes, url)
	user := someone()
	viewers := []*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user))}
	var before [2]int64
	const rounds = 40
	for i := range rounds {
		viewers[i%2].say("t", nil)
		receive(t, asked, "the provider is asked")
		if i > 0 {
			receive(t, hungUp, "the superseded request is cancelled")
		}
		if i == 9 {
			before = [2]int64{memory(t, p.nodes[0]), memory(t, p.nodes[1])}
		}
	}
	for i, n := range p.nodes {
		eventually(t, "at most one program runs", func() bool { return len(children(t, p.nodes[0]))+len(children(t, p.nodes[1])) == 1 })
		if after := memory(t, n); after > before[i]+40<<20 {
			t.Errorf("node %d grew from %d to %d MiB", i, before[i]>>20, after>>20)
		}
	}
	viewers[0].ok("stop", object{"thread_id": "t"})
	receive(t, hungUp, "the last request is cancelled")
	eventually(t, "no program runs", func() bool { return len(children(t, p.nodes[0]))+len(children(t, p.nodes[1])) == 0 })
}

// children are the process ids a node has started and that still run.
func children(t testing.TB, n *node) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		// pid (name) state ppid ...
		rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(n.Pid()) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}
