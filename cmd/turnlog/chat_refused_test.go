package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
)

func TestChatShowsWhyItIsRefused(t *testing.T) {
	foreign := edge.New(nil, edge.Options{Local: true})
	for name, row := range map[string]struct {
		refuse http.HandlerFunc
		want   string
	}{
		"a foreign host": {func(w http.ResponseWriter, r *http.Request) {
			r.Host = "chat.example.com"
			foreign.ServeHTTP(w, r)
		}, "have to be in http.origins (HTTP 421)"},
		"an escape sequence": {func(w http.ResponseWriter, r *http.Request) {
			problem.Write(w, r, &problem.Problem{Status: 403, Code: "x", Detail: "red \x1b[31m\nand more"})
		}, "red [31m and more (HTTP 403)"},
		"without a word": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, "forbidden (HTTP 403)"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(row.refuse)
			defer server.Close()
			var out, status bytes.Buffer
			cmd := newChatCommand()
			cmd.SetArgs([]string{"--url", strings.Replace(server.URL, "http", "ws", 1) + "/ws", "hello"})
			cmd.SetOut(&out)
			cmd.SetErr(&status)
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.Execute()
			http.DefaultClient.CloseIdleConnections()
			if err == nil || !strings.HasPrefix(err.Error(), "cannot connect to ws://") || !strings.HasSuffix(err.Error(), row.want) {
				t.Errorf("%v\nwant … %s\n%s", err, row.want, status.String())
			}
		})
	}
}
