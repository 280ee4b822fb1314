package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/identity"
	"turnlog/session"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// refusing is a session that refuses, for the table of problems.
type refusing struct {
	httpapi.Sessions
	err error
}

func (r refusing) Submit(context.Context, session.Submit) (eventlog.Admission, error) {
	return eventlog.Admission{}, r.err
}

// turning is an authenticator that turns everybody away.
type turning struct {
	identity.Authenticator
	err error
}

func (a turning) Authenticate(context.Context, *http.Request) (identity.Identity, error) {
	return identity.Identity{User: "1"}, a.err
}

// bareAPI is an API without a node behind it.
func bareAPI(t testing.TB, submit, authenticate error) *httpapi.API {
	t.Helper()
	type log struct{ httpapi.Log }
	type hub struct{ httpapi.Hub }
	api, err := httpapi.NewAPI(refusing{err: submit}, log{}, hub{}, turning{err: authenticate}, httpapi.APIOptions{InboundBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestGoldenProblems(t *testing.T) {
	const turns, ok = "/v1/threads/t/turns", `{"content":"x"}`
	rows := []struct {
		name, method, path, contentType, body string
		submit, auth                          error
	}{
		{name: "no token", auth: identity.ErrUnauthorized},
		{name: "not allowed", auth: fmt.Errorf("scope: %w", identity.ErrForbidden)},
		{name: "no authentication", auth: identity.ErrUnavailable},
		{name: "unknown route", path: "/v1/nothing"},
		{name: "unknown route below a thread", path: "/v1/threads/t/nothing"},
		{name: "empty id", path: "/v1/threads//turns"},
		{name: "dots", path: "/v1/threads/../turns"},
		{name: "wrong method", method: "PUT"},
		{name: "wrong method of a thread", method: "POST", path: "/v1/threads/t"},
		{name: "no body", body: " "},
		{name: "no JSON", body: `{"content":`},
		{name: "no object", body: `[1]`},
		{name: "other type", contentType: "text/plain"},
		{name: "other charset", contentType: "application/json; charset=latin1"},
		{name: "too large", body: `{"content":"` + strings.Repeat("x", 5000) + `"}`},
		{name: "too deep", body: `{"content":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`},
		{name: "no content", body: `{}`},
		{name: "several fields", body: `{"content":7,"role":7,"agent":7,"on_busy":"x","on_disconnect":"x","tools":[{}],"id":7,"thread_id":"u"}`},
		{name: "cancel", body: `{"content":"x","on_disconnect":"cancel"}`},
		{name: "close_on_disconnect", body: `{"content":"x","close_on_disconnect":true}`},
		{name: "busy", submit: &session.Refusal{Code: session.CodeBusy, Message: "the thread is busy with another turn", Retryable: true}},
		{name: "idempotency conflict", submit: &session.Refusal{Code: session.CodeConflict, Message: "this message id was already used for another message"}},
		{name: "policy conflict", submit: &session.Refusal{Code: session.CodePolicyConflict, Message: "contradicts"}},
		{name: "quota", submit: &session.Refusal{Code: session.CodeQuota, Message: "too many turns are running for this user", Retryable: true}},
		{name: "draining", submit: &session.Refusal{Code: session.CodeDraining, Message: "this node is shutting down", Retryable: true}},
		{name: "unavailable", submit: &session.Refusal{Code: session.CodeUnavailable, Message: "the event log does not answer", Retryable: true}},
		{name: "rate limited", submit: &session.Refusal{Code: session.CodeRateLimited, Message: "too many unread inputs", Retryable: true}},
		{name: "message too large", submit: &session.Refusal{Code: session.CodeTooLarge, Message: "too large"}},
		{name: "unknown agent", submit: &session.Refusal{Code: session.CodeUnknownAgent, Message: "there is no agent \"x\" here"}},
		{name: "invalid data", submit: &session.Refusal{Code: session.CodeInvalid, Message: "the message is nested too deeply"}},
		{name: "out of memory", submit: fmt.Errorf("begin: %w", eventlog.ErrOutOfMemory)},
		{name: "deleted", submit: eventlog.ErrDeleted},
		{name: "bad id", submit: eventlog.ErrBadID},
		{name: "unknown error", submit: errors.New("redis://secret@host said no")},
	}
	var got bytes.Buffer
	for _, row := range rows {
		def := func(s *string, d string) {
			if *s == "" {
				*s = d
			}
		}
		def(&row.method, "POST")
		def(&row.path, turns)
		def(&row.body, ok)
		def(&row.contentType, "application/json")
		req := httptest.NewRequest(row.method, row.path, strings.NewReader(strings.TrimSpace(row.body)))
		req.Header.Set("Content-Type", row.contentType)
		w := httptest.NewRecorder()
		w.Header().Set("X-Request-Id", "ID") // as the edge sets it
		bareAPI(t, row.submit, row.auth).ServeHTTP(w, req)
		fmt.Fprintf(&got, "# %s\n%d", row.name, w.Code)
		for _, name := range []string{"Allow", "Retry-After", "WWW-Authenticate"} {
			if v := w.Header().Get(name); v != "" {
				fmt.Fprintf(&got, " %s: %s", name, v)
			}
		}
		fmt.Fprintf(&got, "\n%s\n", w.Body)
		if w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", row.name, w.Header())
		}
	}
	const file = "testdata/problems.txt"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("differs from %s (rewrite with -update):\n%s", file, got.Bytes())
	}
}
