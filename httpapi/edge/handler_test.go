package edge_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// site is a server with the edge in front.
type site struct {
	t       testing.TB
	url     string
	mu      sync.Mutex
	logged  bytes.Buffer
	refused map[string]int
}

// Write implements io.Writer for the log.
func (s *site) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logged.Write(b)
}

func (s *site) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logged.String()
}

// count is how often a code was refused.
func (s *site) count(code string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[code]
}

// answers is what stands behind the edge.
func answers() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nraw bytes")
		conn.Close()
	})
	mux.HandleFunc("GET /v1/json/{size}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.PathValue("size"), &n)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", strings.Repeat("a", n-2))
	})
	mux.HandleFunc("GET /v1/secret/{id}", func(w http.ResponseWriter, r *http.Request) {
		edge.SetUser(r.Context(), "ann")
		edge.SetCode(r.Context(), "not_found")
		problem.Write(w, r, problem.NotFound())
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d %s\n\n", i, strings.Repeat("a", 2000))
			if err := http.NewResponseController(w).Flush(); err != nil {
				panic(err)
			}
		}
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /v1/body", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			problem.Write(w, r, &problem.Problem{Status: http.StatusRequestTimeout, Code: "timeout"})
			return
		}
		fmt.Fprint(w, len(b), " ", edge.RequestID(r.Context()), " ", edge.Client(r.Context()))
	})
	mux.HandleFunc("GET /v1/panic", func(http.ResponseWriter, *http.Request) { panic("contents of a message") })
	mux.HandleFunc("GET /v1/late", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"half":`, strings.Repeat(" ", 4000))
		panic("contents of a message")
	})
	return mux
}

func open(t testing.TB, o edge.Options) *site {
	t.Helper()
	s := &site{t: t, refused: make(map[string]int)}
	o.Logger = slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelInfo}))
	o.Refused = func(code string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused[code]++
	}
	server := httptest.NewServer(edge.New(answers(), o))
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s.url = server.URL
	return s
}

func (s *site) do(method, path string, header map[string]string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range header {
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(body)
}

func TestB102_PagesOfOtherHostsAreRefusedUnlessListed(t *testing.T) {
	s := open(t, edge.Options{Origins: origins(t, "https://app.example.com")})
	const path = "/v1/json/10"
	for _, row := range []struct {
		name, method, path, origin string
		status                     int
	}{
		{"no page", "GET", path, "", 200},
		{"listed", "GET", path, "https://app.example.com", 200},
		{"the same host", "GET", path, s.url, 200},
		{"another", "GET", path, "https://evil.example", 403},
		{"another that only writes", "POST", "/v1/body", "https://evil.example", 403},
		{"another, beside the API", "GET", "/elsewhere", "https://evil.example", 403},
		{"another asks first", "OPTIONS", path, "https://evil.example", 403},
		{"nowhere", "GET", path, "null", 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := s.count(edge.CodeOrigin)
			header := map[string]string{"Access-Control-Request-Method": "GET"}
			if row.origin != "" {
				header["Origin"] = row.origin
			}
			resp, body := s.do(row.method, row.path, header)
			allowed := resp.Header.Get("Access-Control-Allow-Origin")
			if resp.StatusCode != row.status || row.status == 403 && (allowed != "" || !strings.Contains(body, `"code":"origin_not_allowed"`)) ||
				row.status == 200 && allowed != row.origin || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Fatalf("%d %v %s", resp.StatusCode, resp.Header, body)
			}
			if strings.HasPrefix(row.path, "/v1/") && !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") {
				t.Fatalf("Vary is %q", resp.Header.Values("Vary"))
			}
			if refused := s.count(edge.CodeOrigin) - before; (refused == 1) != (row.status == 403) {
				t.Fatalf("%d refusals counted", refused)
			}
		})
	}
}

func TestAPageIsToldWhatItMaySendAndRead(t *testing.T) {
	s := open(t, edge.Options{Origins: origins(t, "https://app.example.com")})
	resp, body := s.do("OPTIONS", "/v1/body", map[string]string{"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"})
	if resp.StatusCode != http.StatusNoContent || body != "" {
		t.Fatalf("%d %q", resp.StatusCode, body)
	}
	for _, name := range []string{"Authorization", "Idempotency-Key", "Last-Event-ID", "Content-Type"} {
		if !strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("%s may not be sent", name)
		}
	}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if !strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), method) {
			t.Errorf("%s may not be used", method)
		}
	}
	resp, _ = s.do("GET", "/v1/json/10", map[string]string{"Origin": "https://app.example.com"})
	if got := resp.Header.Get("Access-Control-Expose-Headers"); got != "Location, X-Request-Id, Retry-After" {
		t.Errorf("may read %q", got)
	}
}

func TestB102_ANodeOnLoopbackAnswersToItsOwnNamesOnly(t *testing.T) {
	s := open(t, edge.Options{Local: true, Origins: origins(t, "https://*.example.com")})
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "app.localhost": 200, "127.0.0.1:1": 200, "[::1]:8080": 200, "192.168.1.1": 200, "chat.example.com": 200,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
	} {
		for _, path := range []string{"/v1/json/10", "/ws"} {
			if path == "/ws" && status == 200 {
				continue
			}
			resp, body := s.do("GET", path, map[string]string{"Host": host, "Origin": "http://" + host})
			if resp.StatusCode != status && resp.StatusCode != 403 || (status == 421) != (resp.StatusCode == 421 && strings.Contains(body, edge.CodeHost)) {
				t.Errorf("%s for %s: %d %s", path, host, resp.StatusCode, body)
			}
		}
	}
	if s.count(edge.CodeHost) != 8 {
		t.Errorf("%d refusals counted", s.count(edge.CodeHost))
	}
}

// What a page embeds or links to comes without an Origin, and opening an event stream
// raises a turn's policy and takes over its tool calls.
func TestB102_ANodeOnLoopbackIsNotCalledByWhatAPageEmbeds(t *testing.T) {
	local, other := open(t, edge.Options{Local: true}), open(t, edge.Options{})
	for _, row := range []struct {
		path, site string
		status     int
	}{
		{"/v1/json/10", "", 200}, // no browser, or an old one
		{"/v1/json/10", "none", 200},
		{"/v1/json/10", "same-origin", 200},
		{"/v1/json/10", "same-site", 403},
		{"/v1/json/10", "cross-site", 403},
		{"/admin/v1/turns", "cross-site", 403},
		{"/healthz", "cross-site", 404}, // there is none behind this edge
	} {
		resp, body := local.do("GET", row.path, map[string]string{"Sec-Fetch-Site": row.site})
		if resp.StatusCode != row.status || row.status == 403 && !strings.Contains(body, edge.CodeOrigin) {
			t.Errorf("%s from %q: %d %s", row.path, row.site, resp.StatusCode, body)
		}
	}
	if local.count(edge.CodeOrigin) != 3 {
		t.Errorf("%d refusals counted", local.count(edge.CodeOrigin))
	}
	if resp, _ := other.do("GET", "/v1/json/10", map[string]string{"Sec-Fetch-Site": "cross-site"}); resp.StatusCode != 200 {
		t.Errorf("with tokens: %d", resp.StatusCode) // a link to a page of messages, with its token
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	plain, over := open(t, edge.Options{}), open(t, edge.Options{TLS: true})
	for _, path := range []string{"/v1/json/10", "/v1/secret/x", "/nothing", "/v1/panic"} {
		resp, _ := plain.do("GET", path, nil)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Strict-Transport-Security": "",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") || resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	if resp, _ := over.do("GET", "/nothing", nil); resp.Header.Get("Strict-Transport-Security") == "" {
		t.Error("no HSTS over TLS")
	}
}

func TestRequestIDsAreTakenWhenHarmless(t *testing.T) {
	s := open(t, edge.Options{})
	for given, taken := range map[string]bool{"abc-123_4.5": true, "with space": false, `quote"`: false, "ünicode": false, strings.Repeat("x", 129): false, strings.Repeat("x", 128): true} {
		resp, body := s.do("POST", "/v1/body", map[string]string{"X-Request-Id": given})
		got := resp.Header.Get("X-Request-Id")
		if (got == given) != taken || got == "" || !strings.Contains(body, got) {
			t.Errorf("%q became %q (%s)", given, got, body)
		}
	}
	if _, body := s.do("GET", "/v1/secret/x", map[string]string{"X-Request-Id": "mine"}); !strings.Contains(body, `"request_id":"mine"`) {
		t.Error(body)
	}
}

func TestB109_ARefusedRequestIsOneLineWithoutItsPathAndQuery(t *testing.T) {
	s := open(t, edge.Options{Proxies: proxies(t, "127.0.0.1")})
	s.do("GET", "/v1/json/10?token=hidden", nil)
	s.do("GET", "/v1/secret/hidden?token=hidden", map[string]string{"Authorization": "Bearer hidden", "X-Request-Id": "r1", "X-Forwarded-For": "203.0.113.9"})
	s.do("HIDDEN", "/hidden/hidden", map[string]string{"X-Request-Id": "r2", "Referer": "http://hidden/"})
	log := s.log()
	if strings.Contains(strings.ToLower(log), "hidden") {
		t.Errorf("it is shown:\n%s", log)
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), log)
	}
	for _, want := range []string{"level=INFO", "request_id=r1", "method=GET", `pattern="GET /v1/secret/{id}"`, "status=404", "duration=", "client=203.0.113.9", "user=ann", "code=not_found"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("no %s in %s", want, lines[0])
		}
	}
	if !strings.Contains(lines[1], "method=other") || !strings.Contains(lines[1], "request_id=r2") {
		t.Error(lines[1])
	}
}

func TestLogLinesThatClientsCauseAreBounded(t *testing.T) {
	s := open(t, edge.Options{})
	for range 500 {
		s.do("GET", "/nothing", nil)
	}
	if n := strings.Count(s.log(), "\n"); n < 100 || n > 400 {
		t.Fatalf("%d lines for 500 requests", n)
	}
}

func TestAPanicIsAnsweredAndItsContentsAreNotLogged(t *testing.T) {
	s := open(t, edge.Options{})
	resp, body := s.do("GET", "/v1/panic", nil)
	if resp.StatusCode != 500 || !strings.Contains(body, `"code":"internal"`) || s.count(problem.CodeInternal) != 1 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for name, accept := range map[string]string{"plain": "identity", "packed": "gzip"} {
		r, _ := http.NewRequest("GET", s.url+"/v1/late", nil)
		r.Header.Set("Accept-Encoding", accept)
		late, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			_, err = io.ReadAll(late.Body)
			late.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: half an answer was taken for a whole one", name)
		}
	}
	if log := s.log(); strings.Contains(log, "contents") || !strings.Contains(log, "a request panicked") || !strings.Contains(log, "answers.func") {
		t.Errorf("log:\n%s", log)
	}
}

func TestJSONIsPackedWhenWorthIt(t *testing.T) {
	s := open(t, edge.Options{})
	for _, row := range []struct {
		name, method, path, accept string
		packed                     bool
	}{
		{"large", "GET", "/v1/json/5000", "gzip", true},
		{"large, several", "GET", "/v1/json/5000", "br, gzip;q=0.5", true},
		{"anything", "GET", "/v1/json/5000", "*", true},
		{"not wanted", "GET", "/v1/json/5000", "identity", false},
		{"refused", "GET", "/v1/json/5000", "gzip;q=0, br", false},
		{"small", "GET", "/v1/json/1000", "gzip", false},
		{"head", "HEAD", "/v1/json/5000", "gzip", false},
		{"a problem", "GET", "/v1/secret/x", "gzip", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			resp, body := s.do(row.method, row.path, map[string]string{"Accept-Encoding": row.accept})
			if got := resp.Header.Get("Content-Encoding") == "gzip"; got != row.packed {
				t.Fatalf("packed: %v", got)
			}
			if row.packed {
				r, err := gzip.NewReader(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(r)
				if err != nil || len(plain) != 5000 || resp.Header.Get("Content-Length") == "5000" {
					t.Fatalf("%d bytes, %v", len(plain), err)
				}
			}
			if row.method == "GET" && row.accept == "gzip" && !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Encoding") {
				t.Fatalf("Vary: %v", resp.Header.Values("Vary"))
			}
		})
	}
}

func TestEventStreamsPassUnpackedAndAtOnce(t *testing.T) {
	s := open(t, edge.Options{BodyLimit: 50 * time.Millisecond})
	r, _ := http.NewRequestWithContext(t.Context(), "GET", s.url+"/v1/events", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Encoding") != "" {
		t.Fatal("packed")
	}
	lines := bufio.NewScanner(resp.Body)
	for i := 0; i < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), fmt.Sprintf("data: %d", i)) {
			i++
		}
	}
	// No deadline of bodies ends it: the server goes on reading from the connection meanwhile.
	over := make(chan error, 1)
	go func() {
		_, err := resp.Body.Read(make([]byte, 1))
		over <- err
	}()
	still := time.NewTimer(300 * time.Millisecond)
	defer still.Stop()
	select {
	case err := <-over:
		t.Fatalf("the stream ended: %v", err)
	case <-still.C:
	}
	resp.Body.Close()
	<-over
}

func TestUpgradesPass(t *testing.T) {
	s := open(t, edge.Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(all), "raw bytes") {
		t.Fatalf("%q %v", all, err)
	}
}

func TestB104_ABodyThatTricklesInIsGivenUp(t *testing.T) {
	s := open(t, edge.Options{BodyLimit: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(conn, "POST /v1/body HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
	done := make(chan struct{})
	var trickle sync.WaitGroup
	defer trickle.Wait()
	defer close(done)
	trickle.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_, _ = conn.Write([]byte("x"))
			}
		}
	})
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusRequestTimeout {
		t.Fatalf("%v %v", resp, err)
	}
}

func TestAKeptConnectionOutlivesTheDeadlineOfItsBodies(t *testing.T) {
	s := open(t, edge.Options{BodyLimit: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprint(conn, "POST /v1/body HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if !strings.HasPrefix(string(body), "4 ") {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		pause := time.NewTimer(150 * time.Millisecond)
		<-pause.C
	}
}
