package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnlog/identity"
)

const testSecret = "0123456789abcdef0123456789abcdef"

func TestTheTokenCommandMakesTokensThatServeBelieves(t *testing.T) {
	t.Setenv("TURNLOG_AUTH_SECRET", testSecret)
	token, err := runCommand(t, "token", "--user", "alice", "--ttl", "1m", "--scope", "turnlog:admin", "--scope", "x", "--auth.issuer", "me")
	if err != nil {
		t.Fatal(err)
	}
	config, err := loadWith(t, []string{"--auth.mode", "jwt", "--auth.issuer", "me"}, []string{"TURNLOG_AUTH_SECRET=" + testSecret})
	if err != nil {
		t.Fatal(err)
	}
	auth, keys, err := newAuth(config.Config, slog.New(slog.DiscardHandler), newMetrics().auth)
	if err != nil || keys == nil {
		t.Fatal(err)
	}
	who, err := auth.Verify(t.Context(), strings.TrimSpace(token))
	if err != nil || who.User != "alice" || !who.Has(identity.ScopeAdmin) || !who.Has("x") || time.Until(who.Expires) > 2*time.Minute {
		t.Errorf("%+v, %v", who, err)
	}
	for want, args := range map[string][]string{
		"--user: whom": {"token"}, "--ttl": {"token", "--user", "a", "--ttl", "0s"}, "--scope": {"token", "--user", "a", "--scope", "a b"},
		"256 bytes": {"token", "--user", strings.Repeat("x", 300)},
	} {
		if _, err := runCommand(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
	t.Setenv("TURNLOG_AUTH_SECRET", "")
	if _, err := runCommand(t, "token", "--user", "a"); err == nil || !strings.Contains(err.Error(), "TURNLOG_AUTH_SECRET") {
		t.Errorf("without a secret: %v", err)
	}
}

func TestWithoutAuthOnlyLoopbackIsAdmin(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false} {
		config, err := loadWith(t, []string{"--listen", listen, "--insecure", "--auth.admin_scope", "root"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		auth, _, _ := newAuth(config.Config, slog.New(slog.DiscardHandler), newMetrics().auth)
		who, err := auth.Authenticate(t.Context(), httptest.NewRequest(http.MethodGet, "/ws", nil))
		if err != nil || who.Has("root") != want {
			t.Errorf("%s: %+v, %v", listen, who, err)
		}
	}
}

func TestB109_TheSecretIsNeverShown(t *testing.T) {
	t.Setenv("TURNLOG_AUTH_SECRET", testSecret)
	for _, args := range [][]string{{"config", "--auth.mode", "jwt"}, {"config", "--auth.mode", "jwt", "--json"}, {"config", "--listen", "nonsense"}} {
		out, err := runCommand(t, args...)
		if strings.Contains(out, testSecret[:8]) || (err != nil && strings.Contains(err.Error(), testSecret[:8])) || !strings.Contains(out, "***") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	_, err := runCommand(t, "serve", "--auth.secret", testSecret)
	if err == nil || strings.Contains(err.Error(), "TURNLOG_AUTH_SECRET") == false || strings.Contains(err.Error(), testSecret) {
		t.Errorf("as a flag: %v", err)
	}
	forgetSecrets()
	if _, there := os.LookupEnv("TURNLOG_AUTH_SECRET"); there {
		t.Error("programs of agents would inherit the secret")
	}
}

func TestB116_ATokenFileIsReadForEachConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one\n")
	source, err := tokenSource("", path, "environment")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		put(text + "\n")
		if got, err := source(t.Context()); got != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, bad := range []string{"", "two words", string(bytes.Repeat([]byte("x"), 17<<10))} {
		put(bad)
		if got, err := source(t.Context()); err == nil || strings.Contains(err.Error(), "two words") {
			t.Errorf("%.20q, %v", got, err)
		}
	}
	if _, err := tokenSource("a", path, ""); err == nil {
		t.Error("both were accepted")
	}
	if _, err := tokenSource("", "/nowhere", ""); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("no file: %v", err)
	}
	if source, err := tokenSource("", "", "e"); err != nil || source == nil {
		t.Errorf("environment: %v", err)
	}
	if source, err := tokenSource("", "", ""); err != nil || source != nil {
		t.Errorf("nothing: %v", err)
	}
}
