package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"turnlog/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHealthReadinessAndIndex(t *testing.T) {
	var draining atomic.Bool
	handler, err := httpapi.New(httpapi.Options{
		WebSocket: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		Ready: func() error {
			if draining.Load() {
				return errors.New("draining")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	measured, err := httpapi.New(httpapi.Options{
		WebSocket: http.NotFoundHandler(), Ready: func() error { return nil },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("turnlog_viewers 1")) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	measured.ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	if recorder.Code != 200 || recorder.Body.String() != "turnlog_viewers 1" {
		t.Fatalf("metrics: %d %q", recorder.Code, recorder.Body)
	}
	steps := []struct {
		name     string
		draining bool
		method   string
		path     string
		status   int
		body     string
	}{
		{"alive", false, "GET", "/healthz", 200, "ok"},
		{"ready", false, "GET", "/readyz", 200, "ready"},
		{"alive while draining", true, "GET", "/healthz", 200, "ok"},
		{"not ready while draining", true, "GET", "/readyz", 503, "draining"},
		{"index", false, "GET", "/", 200, "/ws"},
		{"websocket is mounted", false, "GET", "/ws", http.StatusTeapot, ""},
		{"no metrics without a handler", false, "GET", "/metrics", 404, ""},
		{"other paths are not found", false, "GET", "/nothing", 404, ""},
		{"other methods are refused", false, "POST", "/healthz", 405, ""},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			draining.Store(step.draining)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, httptest.NewRequest(step.method, step.path, nil))
			if recorder.Code != step.status || !strings.Contains(recorder.Body.String(), step.body) {
				t.Fatalf("%s %s: got %d %q, want %d with %q", step.method, step.path, recorder.Code, recorder.Body, step.status, step.body)
			}
		})
	}
}

func TestNewRefusesMissingParts(t *testing.T) {
	if _, err := httpapi.New(httpapi.Options{}); err == nil {
		t.Fatal("a handler without a WebSocket endpoint was built")
	}
	if _, err := httpapi.New(httpapi.Options{WebSocket: http.NotFoundHandler()}); err == nil {
		t.Fatal("a handler without a readiness check was built")
	}
}
