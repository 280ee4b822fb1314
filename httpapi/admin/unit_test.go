package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/admin"
	"turnlog/identity"
	"turnlog/session"
)

// failing is a log and a session that fail.
type failing struct {
	admin.Log
	err  error
	user eventlog.UserDeletion
}

func (f failing) Nodes(context.Context) ([]eventlog.NodeState, error)        { return nil, f.err }
func (f failing) NodeReports(context.Context) ([]eventlog.NodeReport, error) { return nil, f.err }
func (f failing) Reaper(context.Context) (eventlog.ReaperState, error) {
	return eventlog.ReaperState{}, f.err
}
func (f failing) Backlog(context.Context) (eventlog.Backlog, error) { return eventlog.Backlog{}, f.err }
func (f failing) Now(context.Context) (time.Time, error)            { return time.Now(), f.err }
func (f failing) CountTurns(context.Context) (eventlog.TurnCounts, error) {
	return eventlog.TurnCounts{}, f.err
}
func (f failing) ListTurns(context.Context, eventlog.TurnFilter, eventlog.TurnPosition, int) (eventlog.TurnPage, error) {
	return eventlog.TurnPage{}, f.err
}
func (f failing) ListThreads(context.Context, string, eventlog.ThreadPosition, int) ([]eventlog.ListedThread, eventlog.ThreadPosition, error) {
	return nil, eventlog.ThreadPosition{}, f.err
}
func (f failing) Inspect(context.Context, eventlog.Thread) (eventlog.Inspection, error) {
	return eventlog.Inspection{Exists: true}, f.err
}
func (f failing) DeleteThread(context.Context, eventlog.Thread) (eventlog.Deleted, error) {
	return eventlog.Deleted{}, f.err
}
func (f failing) DeleteUser(context.Context, string, time.Duration) (eventlog.UserDeletion, error) {
	return f.user, f.err
}
func (f failing) Node() string { return "node-a" }
func (f failing) StopSaying(context.Context, eventlog.Thread, string, string) (session.StopResult, error) {
	return session.StopResult{}, f.err
}

func newAPI(t testing.TB, f failing, opts admin.Options) *admin.API {
	t.Helper()
	api, err := admin.New(f, f, func() admin.ReaperStatus { return admin.ReaperStatus{Err: errors.New("no luck")} }, identity.NoAuth{Admin: true, AdminScope: opts.Scope}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestWhatFailsIsAProblem(t *testing.T) {
	for _, v := range verbs {
		if v.status != 200 || strings.HasSuffix(v.path, "openapi.json") {
			continue
		}
		var out bytes.Buffer
		api := newAPI(t, failing{err: eventlog.ErrUnavailable}, admin.Options{Logger: slog.New(slog.NewJSONHandler(&out, nil))})
		w := httptest.NewRecorder()
		req := httptest.NewRequest(v.method, v.path, strings.NewReader(v.body))
		req.Header.Set("Content-Type", "application/json")
		api.ServeHTTP(w, req)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"code":"unavailable"`) {
			t.Errorf("%s %s: %d %s", v.method, v.path, w.Code, w.Body)
		}
		// A deletion that may have happened leaves a line; a stop had not come to that.
		if attempted := strings.Contains(out.String(), `"msg":"admin change"`); attempted != (v.method == "DELETE") {
			t.Errorf("%s %s logged %s", v.method, v.path, &out)
		}
	}
}

func TestADeletionThatIsCutSaysSo(t *testing.T) {
	began := time.UnixMilli(1_700_000_000_000)
	f := failing{user: eventlog.UserDeletion{Deleted: eventlog.Deleted{Threads: 640, Keys: 900}, Began: began, Begun: 2, BegunIDs: []string{"x", "y"}}}
	w := httptest.NewRecorder()
	newAPI(t, f, admin.Options{}).ServeHTTP(w, httptest.NewRequest("DELETE", "/admin/v1/users/ann", nil))
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %v", w.Code, err)
	}
	if begun := got["begun_meanwhile"].(map[string]any); got["complete"] != false || got["threads"] != 640.0 || begun["threads"] != 2.0 || len(begun["thread_ids"].([]any)) != 2 || got["began_at"] != "2023-11-14T22:13:20Z" {
		t.Errorf("%v", got)
	}
}

func TestTooManyCallsAreRefused(t *testing.T) {
	api := newAPI(t, failing{}, admin.Options{Allow: func(user string) bool { return user != "1" }})
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/admin/v1/nodes", nil))
	if w.Code != 429 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAnotherScopeMayBeAskedFor(t *testing.T) {
	api := newAPI(t, failing{}, admin.Options{Scope: "ops"})
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/admin/v1/reaper", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"error":"no luck"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	if _, err := admin.New(nil, nil, nil, nil, admin.Options{}); err == nil {
		t.Error("nothing is needed")
	}
	f := failing{}
	if _, err := admin.New(f, f, func() admin.ReaperStatus { return admin.ReaperStatus{} }, identity.NoAuth{}, admin.Options{DeleteFor: -1}); err == nil {
		t.Error("a negative time")
	}
}
