//go:build soak

package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostileCamp is the word that turns the test program into that of the attackers.
const hostileCamp = "hostile-camp"

func init() {
	if len(os.Args) > 2 && os.Args[1] == hostileCamp {
		os.Exit(camp(os.Args[2]))
	}
}

// target is what the camp is told.
type target struct {
	Plain, TLS string // addresses
	Cert       []byte // PEM, to trust
}

var hostileAttacks = slices.Concat(hostileHandshakes, hostileFrames, hostileReaders, hostileBombs, hostileFloods, hostileHTTP2)

// camp attacks until its stdin ends, then tells what it met. It has the lowest priority,
// since attackers have machines of their own.
func camp(told string) int {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) // a wish
	var to target
	roots := x509.NewCertPool()
	if err := json.Unmarshal([]byte(told), &to); err != nil || !roots.AppendCertsFromPEM(to.Cert) {
		fmt.Fprintln(os.Stderr, "no target:", err)
		return 1
	}
	s := &siege{
		plain: to.Plain, tls: to.TLS, trust: &tls.Config{RootCAs: roots}, tokens: map[string]string{}, got: map[string]map[string]int{},
		calls: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second},
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s.lay(ctx, hostileAttacks)
	if err := json.NewEncoder(os.Stdout).Encode(s.got); err != nil {
		return 1
	}
	return 0
}

// encamp starts the attackers. The result ends them and tells what each attack met.
func encamp(t *testing.T, to target) (strike func() map[string]map[string]int) {
	t.Helper()
	told, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := spawn(r, self, hostileCamp, string(told))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(); p.kill() })
	return func() (got map[string]map[string]int) {
		_ = w.Close()
		if code := p.exit(t); code != 0 {
			t.Fatalf("the attackers ended with %d:\n%s", code, p.stderr)
		}
		if err := json.Unmarshal([]byte(p.stdout.String()), &got); err != nil {
			t.Fatalf("%v: %s", err, p.stdout)
		}
		return got
	}
}

// tally tells what an attack met, the most frequent first, and whether it had one of the
// outcomes that it has to have.
func (a attack) tally(got map[string]int) (text string, total int, met bool) {
	var all []string
	for what, n := range got {
		all = append(all, what)
		total += n
		met = met || slices.ContainsFunc(a.want, func(prefix string) bool { return strings.HasPrefix(what, prefix) })
	}
	slices.SortFunc(all, func(a, b string) int { return got[b] - got[a] })
	for i, what := range all {
		all[i] = fmt.Sprintf("%s ×%d", what, got[what])
	}
	return strings.Join(all[:min(len(all), 5)], ", "), total, met
}
