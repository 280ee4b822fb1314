package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"turnlog/client"
)

// refusedBy runs a client against a server that answers its handshake so, until it tells
// why there is no connection.
func refusedBy(t *testing.T, status int, contentType, body string) (told, final error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	hc := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	c, err := client.New(server.URL, client.Options{HTTPClient: hc, Handler: client.Handler{OnState: func(s client.State) {
		if s.Err != nil {
			told = s.Err
			stop()
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	final = c.Run(ctx)
	return told, final
}

func TestARefusedHandshakeTellsWhatTheServerSays(t *testing.T) {
	const document = `{"type":"about:blank","title":"Misdirected Request","status":421,"code":"host_not_allowed","detail":"other hosts have to be in http.origins","request_id":"r-1"}`
	for name, row := range map[string]struct {
		status      int
		kind, body  string
		want        client.HandshakeError
		says        string
		unrecovered bool
	}{
		"a problem": {421, "application/problem+json", document,
			client.HandshakeError{Status: 421, Code: "host_not_allowed", Title: "Misdirected Request", Detail: "other hosts have to be in http.origins", RequestID: "r-1"},
			"HTTP 421 Misdirected Request: other hosts have to be in http.origins", true},
		"with parameters": {503, "application/problem+json; charset=utf-8", `{"code":"draining","title":"Going down"}`,
			client.HandshakeError{Status: 503, Code: "draining", Title: "Going down"}, "HTTP 503 Service Unavailable: Going down", false},
		"the title is the status": {429, "application/problem+json", `{"title":"Too Many Requests"}`,
			client.HandshakeError{Status: 429, Title: "Too Many Requests"}, "HTTP 429 Too Many Requests", false},
		"a page of a proxy":  {502, "text/html", "<h1>Bad gateway</h1>", client.HandshakeError{Status: 502}, "HTTP 502 Bad Gateway", false},
		"not what it claims": {500, "application/problem+json", `<h1>`, client.HandshakeError{Status: 500}, "HTTP 500 Internal Server Error", false},
		"endless":            {500, "application/problem+json", `{"detail":"` + strings.Repeat("x", 1<<20), client.HandshakeError{Status: 500}, "HTTP 500", false},
	} {
		t.Run(name, func(t *testing.T) {
			told, final := refusedBy(t, row.status, row.kind, row.body)
			if row.unrecovered {
				if !errors.Is(final, client.ErrUnauthorized) {
					t.Fatalf("the client ended with %v", final)
				}
				told = final
			}
			var got *client.HandshakeError
			if !errors.As(told, &got) {
				t.Fatalf("told %v", told)
			}
			row.want.RetryAfter = 7 * time.Second
			if *got != row.want || !strings.Contains(got.Error(), row.says) {
				t.Errorf("%+v, %v", *got, got)
			}
		})
	}
}
