package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/admin"
)

// nodeSource asks a node's API for operators.
type nodeSource struct {
	base  string // like http://127.0.0.1:8080
	token func(context.Context) (string, error)
	http  *http.Client
	date  time.Time // the node's clock, of the answer before
}

var _ source = (*nodeSource)(nil)

// nodeTimeout bounds one call.
const nodeTimeout = 15 * time.Second

// maxAnswer bounds an answer: a page of frames holds 4 MiB, a single frame may be larger.
const maxAnswer = 256 << 20

func newNodeSource(f *sourceFlags) (*nodeSource, error) {
	base, err := nodeAddress(f.url)
	if err != nil {
		return nil, err
	}
	token, err := tokenSource(f.token, f.tokenFile, os.Getenv("TURNLOG_TOKEN"))
	if err != nil {
		return nil, err
	}
	return &nodeSource{base: base, token: token, http: &http.Client{Timeout: nodeTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()}}, nil
}

// nodeAddress makes the base of a node's HTTP calls of what chat takes as --url, too:
// host:port, http://host:port or ws://host:port/ws.
func nodeAddress(given string) (string, error) {
	if !strings.Contains(given, "://") {
		given = "http://" + given
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("--url: %q is no address of a node; write it like http://127.0.0.1:8080", given)
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	case "http", "https":
	default:
		return "", fmt.Errorf("--url: %q is not a known scheme; use http:// or https://", u.Scheme)
	}
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/ws"), nil
}

func (s *nodeSource) close() { s.http.CloseIdleConnections() }

// get asks one call under /admin/v1 and reads its answer into out.
func (s *nodeSource) get(ctx context.Context, path string, query url.Values, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/admin/v1"+path+"?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if s.token != nil {
		token, err := s.token(ctx)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w from %s: %w", errAway, s.base, withoutURL(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w from %s: %w", errAway, s.base, err)
	}
	s.date, _ = http.ParseTime(response.Header.Get("Date"))
	if response.StatusCode != http.StatusOK {
		return s.refused(response.StatusCode, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s answers something else than a node's API: %w", s.base, err)
	}
	return nil
}

// refused says in a sentence what an error status means here.
func (s *nodeSource) refused(status int, body []byte) error {
	var told struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	known := json.Unmarshal(body, &told) == nil && told.Code != ""
	switch {
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%s wants a token: --token or TURNLOG_TOKEN, with the admin scope", s.base)
	case status == http.StatusForbidden:
		return fmt.Errorf("%s refuses: the token has no admin scope (auth.admin_scope), or there is no authentication beyond loopback", s.base)
	case status == http.StatusNotFound && known:
		return errNoThread
	case status == http.StatusNotFound:
		return fmt.Errorf("%s has no API for operators (HTTP 404); is it a turnlog node?", s.base)
	case status == http.StatusTooManyRequests || status >= 500:
		return fmt.Errorf("%w: %s answers HTTP %d %s", errAway, s.base, status, told.Detail)
	}
	return fmt.Errorf("%s answers HTTP %d %s", s.base, status, told.Detail)
}

func userPath(user string) string { return "/users/" + url.PathEscape(user) + "/threads" }

// Threads implements source.
func (s *nodeSource) Threads(ctx context.Context, user string, most int) (threadListing, error) {
	out := threadListing{User: user, Threads: []admin.ListedThread{}}
	query := url.Values{}
	for {
		n := biteRows
		if most > 0 {
			n = min(n, most-len(out.Threads))
		}
		query.Set("limit", strconv.Itoa(n))
		var page struct {
			Threads []admin.ListedThread `json:"threads"`
			Next    *string              `json:"next"`
		}
		if err := s.get(ctx, userPath(user), query, &page); err != nil {
			return out, err
		}
		out.Threads, out.More = append(out.Threads, page.Threads...), page.Next != nil
		if !out.More || most > 0 && len(out.Threads) >= most {
			break
		}
		query.Set("cursor", *page.Next)
	}
	out.Now = s.date.UTC()
	return out, nil
}

// Thread implements source.
func (s *nodeSource) Thread(ctx context.Context, t eventlog.Thread) (admin.Thread, error) {
	var out admin.Thread
	err := s.get(ctx, userPath(t.User)+"/"+url.PathEscape(t.ID), nil, &out)
	return out, err
}

// Frames implements source.
func (s *nodeSource) Frames(ctx context.Context, t eventlog.Thread, after int64) (framePage, error) {
	var out framePage
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(biteFrames)}}
	err := s.get(ctx, userPath(t.User)+"/"+url.PathEscape(t.ID)+"/frames", query, &out)
	return out, err
}

// isAway says whether the same call may succeed later.
func isAway(err error) bool { return errors.Is(err, errAway) }
