package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Entry is one persisted message of a thread's history.
type Entry struct {
	ThreadID string          `json:"thread_id"` // another one where the thread continues or branches off that one
	TurnID   string          `json:"turn_id"`
	Seq      int64           `json:"chat_seq"`
	Epoch    string          `json:"epoch"`
	Role     string          `json:"role"`
	Content  json.RawMessage `json:"content"` // a string, or a list of content blocks
	Partial  bool            `json:"partial"` // its turn ended early

	Raw json.RawMessage `json:"-"` // all of it
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Entry) UnmarshalJSON(b []byte) error {
	type plain Entry
	if err := json.Unmarshal(b, (*plain)(e)); err != nil {
		return err
	}
	e.Raw = slices.Clone(b)
	return nil
}

// Page is a part of a thread's history, oldest message first.
type Page struct {
	Messages []Entry
	Next     string // the before of the next, older page; "" = this is the oldest
}

// Messages reads a page of a thread's history over HTTP: what to do when OnReconcile asks for
// it, on a goroutine of the caller's own, because it blocks. before is "" for the newest page,
// else the Next of a newer one; limit 0 leaves the size to the server.
//
// A message may come as a frame too, when it is newer than the header that asked for the
// history: (Epoch, Seq) tells them apart. A thread that never ran, or that is somebody
// else's, has an empty page. Messages fails with *Refused, whose Retryable says whether
// trying again can help, or with the network's error, and with the context's.
func (c *Client) Messages(ctx context.Context, threadID, before string, limit int) (Page, error) {
	query := url.Values{}
	if before != "" {
		query.Set("before", before)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if c.o.User != "" {
		query.Set("user", c.o.User)
	}
	page, err := c.history(ctx, c.api+"/v1/threads/"+segment(threadID)+"/messages?"+query.Encode())
	if err != nil {
		return Page{}, fmt.Errorf("messages of thread %s: %w", threadID, err)
	}
	return page, nil
}

func (c *Client) history(ctx context.Context, address string) (Page, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Page{}, err
	}
	token, err := c.token(ctx)
	if err != nil {
		return Page{}, err
	}
	r.Header = requestHeader(c.o, token)
	resp, err := c.o.HTTPClient.Do(r)
	if err != nil {
		return Page{}, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return readPage(io.LimitReader(resp.Body, c.o.MaxFrame))
	case http.StatusNotFound:
		return Page{}, nil
	}
	p := readProblem(resp)
	return Page{}, &Refused{
		Command: "messages", Code: firstOf(p.Code, fmt.Sprintf("http_%d", resp.StatusCode)), Message: firstOf(p.Detail, p.Title),
		Retryable: p.Retryable || resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests,
	}
}

func readPage(body io.Reader) (Page, error) {
	var said struct {
		Messages []Entry
		Next     string // null is ""
	}
	if err := json.NewDecoder(body).Decode(&said); err != nil {
		return Page{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return Page{Messages: said.Messages, Next: said.Next}, nil
}

// segment is an id as one segment of a path.
func segment(id string) string {
	if id == "." || id == ".." { // paths with these are shortened on their way
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}
