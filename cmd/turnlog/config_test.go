package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// loadWith runs load the way serve does, with these arguments and variables.
func loadWith(t *testing.T, args, environ []string) (*loaded, error) {
	t.Helper()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	addSettingFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	config, err := load(flags, environ)
	if err != nil {
		return nil, err
	}
	config.Agent.Command = flags.Args()
	return config, config.validate()
}

// configFile writes a configuration file of that name and returns its path.
func configFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsAreValid(t *testing.T) {
	config, err := loadWith(t, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if config.Listen != "127.0.0.1:8080" || config.Replay.MaxBytes != 16<<20 || config.Replay.Retention != 5*time.Minute ||
		config.History.Retention != 720*time.Hour || config.Disconnect.Policy != "grace" || config.Agent.Name != "demo" {
		t.Fatalf("unexpected defaults: %+v", config.Config)
	}
	for key, source := range config.source {
		if source != "default" {
			t.Errorf("%s comes from %q, want default", key, source)
		}
	}
	if len(settings) > 50 {
		t.Errorf("%d settings are too many to know", len(settings))
	}
}

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	for _, file := range []struct{ name, text string }{
		{"c.yaml", "replay:\n  retention: 1s\n  max_frames: 7\nnode.lease: 20s\ninsecure: true\nagent: demo\nagent.stdin: text\n"},
		{"c.toml", "\"node.lease\" = \"20s\"\ninsecure = true\n\"agent.stdin\" = \"text\"\n[replay]\nretention = \"1s\"\nmax_frames = 7\n"},
		{"c.json", `{"replay":{"retention":"1s","max_frames":7},"node.lease":"20s","insecure":true,"agent.stdin":"text"}`},
	} {
		t.Run(file.name, func(t *testing.T) {
			path := configFile(t, file.name, file.text)
			config, err := loadWith(t,
				[]string{"--config", path, "--replay.retention", "3s", "--redis", "redis://127.0.0.1:1"},
				[]string{"TURNLOG_REPLAY_RETENTION=2s", "TURNLOG_REPLAY_MAX_BYTES=2MiB", "HOME=/"})
			if err != nil {
				t.Fatal(err)
			}
			if config.Replay.Retention != 3*time.Second || config.Replay.MaxBytes != 2<<20 || config.Replay.MaxFrames != 7 ||
				config.Node.Lease != 20*time.Second || !config.Insecure || config.Agent.Stdin != "text" || config.Redis.URL != "redis://127.0.0.1:1" {
				t.Fatalf("wrong values: %+v", config.Config)
			}
			for key, want := range map[string]string{
				"replay.retention": "flag --replay.retention", "replay.max_bytes": "environment TURNLOG_REPLAY_MAX_BYTES",
				"replay.max_frames": "file " + path, "redis.url": "flag --redis", "turn.on_busy": "default",
			} {
				if config.source[key] != want {
					t.Errorf("%s comes from %q, want %q", key, config.source[key], want)
				}
			}
		})
	}
}

func TestMistakesAreSentencesNamingTheSetting(t *testing.T) {
	badYAML := configFile(t, "bad.yaml", "replay:\n  retentoin: 5s\n")
	list := configFile(t, "list.yaml", "listen: [a, b]\n")
	twice := configFile(t, "twice.yaml", "replay.retention: 5s\nreplay:\n  retention: 6s\n")
	broken := configFile(t, "broken.yaml", "a: [\n")
	rows := []struct {
		name string
		args []string
		env  []string
		want []string
	}{
		{"unknown key in the file", []string{"--config", badYAML}, nil, []string{`"replay.retentoin"`, "did you mean replay.retention?"}},
		{"list where one value is wanted", []string{"--config", list}, nil, []string{"listen", "one value"}},
		{"broken file", []string{"--config", broken}, nil, []string{"broken.yaml", "not readable"}},
		{"missing file", []string{"--config", "/nowhere/c.yaml"}, nil, []string{"--config", "/nowhere/c.yaml", "no such file"}},
		{"file of another kind", []string{"--config", "/etc/passwd"}, nil, []string{".yaml"}},
		{"duration without unit", []string{"--node.lease", "10"}, nil, []string{"node.lease", "unit"}},
		{"duration without unit in the environment", nil, []string{"TURNLOG_NODE_LEASE=10"}, []string{"node.lease", "TURNLOG_NODE_LEASE", "unit"}},
		{"no size", []string{"--replay.max_bytes", "lots"}, nil, []string{"replay.max_bytes", "16MiB"}},
		{"overflowing size", []string{"--replay.max_bytes", "99999999999GiB"}, nil, []string{"replay.max_bytes"}},
		{"no number", []string{"--partitions", "many"}, nil, []string{"partitions", "whole number"}},
		{"unknown choice", []string{"--disconnect.policy", "keep"}, nil, []string{"disconnect.policy", "cancel, grace or preserve"}},
		{"lease within two heartbeats", []string{"--node.lease", "6s"}, nil, []string{"node.lease", "6s", "node.heartbeat"}},
		{"no grace", []string{"--disconnect.grace", "0s"}, nil, []string{"disconnect.grace", "cancel"}},
		{"negative", []string{"--drain.timeout", "-1s"}, nil, []string{"drain.timeout", "-1s"}},
		{"retention over history", []string{"--history.retention", "1m"}, nil, []string{"replay.retention", "history.retention"}},
		{"frame over inbound", []string{"--limits.frame_bytes", "9MiB"}, nil, []string{"limits.frame_bytes", "limits.inbound_bytes"}},
		{"log smaller than a frame", []string{"--replay.max_bytes", "1KiB"}, nil, []string{"replay.max_bytes", "limits.frame_bytes"}},
		{"no frames", []string{"--replay.max_frames", "0"}, nil, []string{"replay.max_frames"}},
		{"sockets closed after the end", []string{"--drain.timeout", "4s", "--drain.close_spread", "5s"}, nil, []string{"drain.close_spread", "5s", "drain.timeout 4s"}},
		{"both spellings of the redis flag", []string{"--redis", "redis://127.0.0.1:1", "--redis.url", "redis://:secret@127.0.0.1:2"}, nil, []string{"--redis ", "--redis.url"}},
		{"nested and dotted", []string{"--config", twice}, nil, []string{"replay.retention", "twice", `dotted key "replay.retention"`, `"retention" under "replay"`}},
		{"listening to everybody", []string{"--listen", "0.0.0.0:8080"}, nil, []string{"listen", "auth.mode to jwt", "--insecure"}},
		{"listening to everybody by leaving the host out", []string{"--listen", ":8080"}, nil, []string{"listen", "--insecure"}},
		{"jwt without keys", []string{"--auth.mode", "jwt"}, nil, []string{"auth.mode", "auth.secret", "auth.key_files", "auth.jwks_url"}},
		{"a secret as flag", []string{"--auth.mode", "jwt", "--auth.secret", strings.Repeat("secret", 8)}, nil, []string{"auth.secret", "TURNLOG_AUTH_SECRET"}},
		{"a short secret", []string{"--auth.mode", "jwt"}, []string{"TURNLOG_AUTH_SECRET=hunter2"}, []string{"auth.", "7 bytes", "openssl"}},
		{"keys for nobody", []string{"--auth.jwks_url", "https://issuer.example/keys"}, nil, []string{"auth.mode", "auth.jwks_url", "set auth.mode to jwt"}},
		{"an audience for nobody", []string{"--auth.audience", "x"}, nil, []string{"auth.mode", "auth.audience"}},
		{"keys without TLS", []string{"--auth.mode", "jwt", "--auth.jwks_url", "http://issuer.example/keys"}, nil, []string{"auth.jwks_url", "https"}},
		{"two scopes for admin", []string{"--auth.admin_scope", "a b"}, nil, []string{"auth.admin_scope"}},
		{"listen without port", []string{"--listen", "localhost"}, nil, []string{"listen", "host:port"}},
		{"port out of range", []string{"--listen", "127.0.0.1:99999"}, nil, []string{"listen", "99999"}},
		{"command without program", []string{"--agent", "command"}, nil, []string{"agent", "--agent command -- "}},
		{"program without command", []string{"--", "cat"}, nil, []string{"agent", "--agent command"}},
		{"redis without scheme", []string{"--redis", "localhost:6379"}, nil, []string{"redis.url", "redis://"}},
		{"redis with another scheme", []string{"--redis", "http://localhost"}, nil, []string{"redis.url", "http"}},
		{"redis with a bad database", []string{"--redis", "redis://u:secret@localhost:6379/x"}, nil, []string{"redis.url"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := loadWith(t, row.args, row.env)
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
			for _, shown := range []string{":secret", "secretsecret", "hunter2"} {
				if strings.Contains(err.Error(), shown) {
					t.Errorf("%q shows a password", err)
				}
			}
		})
	}
}

func TestB102_ListeningBeyondLoopbackNeedsInsecure(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0"} {
		if _, err := loadWith(t, []string{"--listen", listen}, nil); err != nil {
			t.Errorf("%s was refused: %v", listen, err)
		}
	}
	if _, err := loadWith(t, []string{"--listen", "0.0.0.0:0", "--insecure"}, nil); err != nil {
		t.Errorf("--insecure was refused: %v", err)
	}
}

func TestB102_ListeningBeyondLoopbackWithTokens(t *testing.T) {
	config, err := loadWith(t, []string{"--listen", "0.0.0.0:0", "--auth.mode", "jwt"}, []string{"TURNLOG_AUTH_SECRET=" + strings.Repeat("x", 32)})
	if err != nil || len(config.warnings) != 0 {
		t.Errorf("%v, %q", err, config.warnings)
	}
	config, err = loadWith(t, []string{"--auth.mode", "jwt", "--auth.jwks_url", "https://issuer.example/keys"}, nil)
	if err != nil || len(config.warnings) != 1 || !strings.Contains(config.warnings[0], "auth.audience") {
		t.Errorf("%v, %q", err, config.warnings)
	}
}

func TestUnknownVariablesAreOneWarningEach(t *testing.T) {
	config, err := loadWith(t, nil, []string{"TURNLOG_REPLAY_RETENTOIN=5s", "OTHER=1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.warnings) != 1 || !strings.Contains(config.warnings[0], "did you mean TURNLOG_REPLAY_RETENTION?") {
		t.Fatalf("warnings: %q", config.warnings)
	}
}

func TestNothingIsSuggestedThatIsNotNear(t *testing.T) {
	for name, want := range map[string]string{
		"TURNLOG_NOPE": "", "TURNLOG_FOO": "", "TURNLOG_X": "", "TURNLOG_REDIS": "", "TURNLOG_TOKNE": "TURNLOG_TOKEN", "TURNLOG_AGNET": "TURNLOG_AGENT",
		"TURNLOG_REDIS_URI": "TURNLOG_REDIS_URL", "TURNLOG_LISTN": "TURNLOG_LISTEN",
	} {
		config, err := loadWith(t, nil, []string{name + "=1"})
		if err != nil || len(config.warnings) != 1 {
			t.Fatalf("%s: %v, %q", name, err, config.warnings)
		}
		if got := config.warnings[0]; !strings.Contains(got, name) || (want == "") == strings.Contains(got, "did you mean") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	for word, want := range map[string]string{"replay.retentoin": "replay.retention", "retention": "", "redis": "", "lsiten": "listen"} {
		if got := suggestion(word, settingKeys()); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", word, got)
		}
	}
}

func TestTheRedisFlagMayBeGivenInBothSpellingsOfOneURL(t *testing.T) {
	config, err := loadWith(t, []string{"--redis", "redis://127.0.0.1:1", "--redis.url", "redis://127.0.0.1:1"}, nil)
	if err != nil || config.Redis.URL != "redis://127.0.0.1:1" {
		t.Fatalf("%v, %v", config, err)
	}
}

func TestSettingsThatDoNothingAreWarnedOf(t *testing.T) {
	for name, row := range map[string]struct {
		args, env []string
		want      string
	}{
		"stdin of the demo agent":        {[]string{"--agent.stdin", "text"}, nil, "--agent command"},
		"stdin of the demo agent, env":   {nil, []string{"TURNLOG_AGENT_STDIN=json"}, "environment TURNLOG_AGENT_STDIN"},
		"restart of a filter":            {[]string{"--agent", "command", "--agent.stdin", "text", "--turn.on_owner_lost", "restart", "--", "cat"}, nil, "turn.on_owner_lost fail"},
		"restart of a program":           {[]string{"--agent", "command", "--turn.on_owner_lost", "restart", "--", "cat"}, nil, ""},
		"a filter that is not restarted": {[]string{"--agent", "command", "--agent.stdin", "text", "--", "cat"}, nil, ""},
		"restart of the demo agent":      {[]string{"--turn.on_owner_lost", "restart"}, nil, ""},
	} {
		config, err := loadWith(t, row.args, row.env)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(config.warnings, "\n"); (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
}

func TestAShortDrainShortensTheSpreadThatNobodySet(t *testing.T) {
	config, err := loadWith(t, []string{"--drain.timeout", "4s"}, nil)
	if err != nil || config.Drain.CloseSpread != 4*time.Second {
		t.Fatalf("spread %v, %v", config.Drain.CloseSpread, err)
	}
}

func TestUnknownFlagNamesTheNearest(t *testing.T) {
	_, err := runCommand(t, "serve", "--replay.retentoin", "5s")
	if err == nil || !strings.Contains(err.Error(), "--replay.retentoin; did you mean --replay.retention?") {
		t.Fatalf("got %v", err)
	}
}

func TestConfigCommandMasksPasswords(t *testing.T) {
	for _, args := range [][]string{{"config"}, {"config", "--json"}} {
		for _, url := range []string{"redis://bob:hunter2@127.0.0.1:6379/0", "rediss://:hunter2@127.0.0.1:6379/0"} {
			out, err := runCommand(t, append(args, "--redis", url)...)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out, "hunter2") || !strings.Contains(out, "***@127.0.0.1:6379/0") || !strings.Contains(out, "flag --redis") {
				t.Errorf("%v printed\n%s", args, out)
			}
		}
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{"0": 0, "1024": 1024, "16MiB": 16 << 20, "8 mb": 8e6, "1GiB": 1 << 30, "5KB": 5000, "7b": 7} {
		got, err := parseBytes(text)
		if err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
		if again, err := parseBytes(got.String()); err != nil || again != got {
			t.Errorf("%d prints as %s, which reads as %d (%v)", got, got, again, err)
		}
	}
}

// runCommand runs the command line in this process and returns what it printed.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}
