package main

import (
	"strings"

	"turnlog/identity"
)

// setting is one row of the table: the only place where a setting's name,
// default and meaning are written down. Flags, environment names, the
// configuration file, `turnlog config` and the table in docs/operations.md are
// all made from it.
type setting struct {
	key       string
	preset    string // default, as a person would write it
	unit      string // what values look like, for people
	help      string // meaning, one sentence
	danger    string // what goes wrong with a careless value; may be empty
	secret    bool   // holds a password: masked when printed
	unflagged bool   // all of it is secret, so it is refused on the command line and never printed
	choices   []string
	at        func(*Config) any // pointer to the field; its type decides how values are read
}

// env is the setting's environment variable.
func (s setting) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

const envPrefix = "TURNLOG_"

var settings = []setting{
	{key: "listen", preset: "127.0.0.1:8080", unit: "host:port", help: "address of the HTTP and WebSocket server; port 0 picks a free one",
		danger: "beyond loopback it wants auth.mode jwt", at: func(c *Config) any { return &c.Listen }},
	{key: "insecure", preset: "false", unit: "true or false", help: "allow listening beyond loopback without authentication",
		danger: "only behind something that authenticates", at: func(c *Config) any { return &c.Insecure }},
	{key: "partitions", preset: "64", unit: "1 to 4096", help: "number of partitions of the keys; part of the stored format",
		danger: "fixed by the first start; a node configured otherwise refuses to start", at: func(c *Config) any { return &c.Partitions }},

	{key: "auth.mode", preset: authNone, unit: "none or jwt", choices: []string{authNone, authJWT},
		help: "who people are: whoever they say (none), or whom their token names (jwt)", danger: "with none everybody who reaches the port may act as any user, and on loopback as administrator",
		at: func(c *Config) any { return &c.Auth.Mode }},
	{key: "auth.secret", preset: "", unit: "at least 32 bytes", help: "secret that tokens are signed with (HS256); only in the environment or the file",
		danger: "whoever has it can be any user", secret: true, unflagged: true, at: func(c *Config) any { return &c.Auth.Secret }},
	{key: "auth.key_files", preset: "", unit: "list of files", help: "public keys (PEM) that tokens are signed with: RSA (RS256), P-256 (ES256), Ed25519 (EdDSA); read again when they change",
		at: func(c *Config) any { return &c.Auth.KeyFiles }},
	{key: "auth.jwks_url", preset: "", unit: "https URL", help: "JWK set of the identity provider; http only on loopback",
		danger: "whoever can change what it answers can be any user", secret: true, at: func(c *Config) any { return &c.Auth.JWKSURL }},
	{key: "auth.issuer", preset: "", unit: "text", help: "what iss of a token must be; empty: anything", at: func(c *Config) any { return &c.Auth.Issuer }},
	{key: "auth.audience", preset: "", unit: "text", help: "what aud of a token must be or contain; empty: anything",
		danger: "when empty, tokens that the issuer made for other services are let in", at: func(c *Config) any { return &c.Auth.Audience }},
	{key: "auth.admin_scope", preset: identity.ScopeAdmin, unit: "text", help: "scope (claims scope, scp or scopes) that the calls of /admin need",
		at: func(c *Config) any { return &c.Auth.AdminScope }},

	{key: "redis.url", preset: "", unit: "redis://, rediss:// or unix:// URL", help: "where the log lives; empty: an embedded Redis inside the process",
		danger: "with the embedded one nothing survives the process", secret: true, at: func(c *Config) any { return &c.Redis.URL }},
	{key: "redis.pool_size", preset: "32", unit: "connections, 4 to 10000", help: "largest number of connections to Redis from this node",
		at: func(c *Config) any { return &c.Redis.PoolSize }},
	{key: "redis.outage_budget", preset: "60s", unit: "duration", help: "how long agents are held back while Redis does not answer before their turns fail",
		at: func(c *Config) any { return &c.Redis.OutageBudget }},
	{key: "redis.command_timeout", preset: "5s", unit: "duration", help: "deadline of one Redis command",
		danger: "below a few hundred milliseconds a busy Redis looks like a dead one", at: func(c *Config) any { return &c.Redis.CommandTimeout }},
	{key: "redis.start_timeout", preset: "30s", unit: "duration", help: "how long serve waits for Redis at start before it gives up",
		at: func(c *Config) any { return &c.Redis.StartTimeout }},

	{key: "replay.max_frames", preset: "2000", unit: "frames", help: "frames kept per thread; the newest are kept; trimming is exact below 200 and may lag a little above",
		at: func(c *Config) any { return &c.Replay.MaxFrames }},
	{key: "replay.max_bytes", preset: "16MiB", unit: "bytes", help: "bytes of frames kept per thread; wins over replay.max_frames; the newest frame is always kept",
		danger: "times the number of live threads is what Redis must hold", at: func(c *Config) any { return &c.Replay.MaxBytes }},
	{key: "replay.retention", preset: "5m", unit: "duration", help: "how long frames stay after the turn ended",
		at: func(c *Config) any { return &c.Replay.Retention }},
	{key: "history.retention", preset: "720h", unit: "duration", help: "how long messages and numbering stay after the last turn ended",
		at: func(c *Config) any { return &c.History.Retention }},

	{key: "disconnect.policy", preset: "grace", unit: "cancel, grace or preserve", choices: []string{"cancel", "grace", "preserve"},
		help: "what happens to a turn without viewers when nobody said otherwise", danger: "cancel ends turns on every page reload",
		at: func(c *Config) any { return &c.Disconnect.Policy }},
	{key: "disconnect.grace", preset: "10m", unit: "duration", help: "how long a turn with policy grace runs without viewers",
		at: func(c *Config) any { return &c.Disconnect.Grace }},
	{key: "disconnect.reconnect_window", preset: "15s", unit: "duration", help: "what a turn with policy cancel gets when the server closed its last viewer's socket",
		at: func(c *Config) any { return &c.Disconnect.ReconnectWindow }},

	{key: "turn.on_busy", preset: "supersede", unit: "supersede, reject or enqueue", choices: []string{"supersede", "reject", "enqueue"},
		help: "what a new message does while its thread runs a turn, unless it says so itself", at: func(c *Config) any { return &c.Turn.OnBusy }},
	{key: "turn.on_owner_lost", preset: "fail", unit: "fail or restart", choices: []string{ownerLostFail, ownerLostRestart},
		help: "what happens to a turn whose node died; restart only for agents that can be restarted", at: func(c *Config) any { return &c.Turn.OnOwnerLost }},
	{key: "turn.max_duration", preset: "0s", unit: "duration, 0 = no limit", help: "longest run of a turn", at: func(c *Config) any { return &c.Turn.MaxDuration }},
	{key: "turn.stall_after", preset: "0s", unit: "duration, 0 = never", help: "ends a turn that emits nothing for so long while no request is open",
		at: func(c *Config) any { return &c.Turn.StallAfter }},
	{key: "turn.stop_timeout", preset: "10s", unit: "duration", help: "how long a stopped agent has to wind down before its turn is ended without it",
		at: func(c *Config) any { return &c.Turn.StopTimeout }},
	{key: "turn.tool_timeout", preset: "5m", unit: "duration, 0 = never", help: "how long a tool call waits for its result; stands still while nobody watches",
		at: func(c *Config) any { return &c.Turn.ToolTimeout }},

	{key: "node.lease", preset: "10s", unit: "duration", help: "after so long without a heartbeat a node counts as dead",
		danger: "short leases make long pauses fatal", at: func(c *Config) any { return &c.Node.Lease }},
	{key: "node.heartbeat", preset: "3s", unit: "duration", help: "interval of heartbeats; the lease must be longer than two of them",
		at: func(c *Config) any { return &c.Node.Heartbeat }},
	{key: "drain.timeout", preset: "240s", unit: "duration", help: "how long SIGTERM waits for running turns before they end as shutdown",
		danger: "the supervisor's kill timeout must be longer than this, turn.stop_timeout and 5 s together", at: func(c *Config) any { return &c.Drain.Timeout }},
	{key: "drain.close_spread", preset: "10s", unit: "duration", help: "time over which a draining node closes its sockets; at most drain.timeout",
		at: func(c *Config) any { return &c.Drain.CloseSpread }},

	{key: "limits.frame_bytes", preset: "1MiB", unit: "bytes", help: "largest frame an agent may emit", at: func(c *Config) any { return &c.Limits.FrameBytes }},
	{key: "limits.inbound_bytes", preset: "8MiB", unit: "bytes", help: "largest message a client may send; more closes its socket with 1009",
		at: func(c *Config) any { return &c.Limits.InboundBytes }},
	{key: "limits.threads_per_connection", preset: "128", unit: "threads", help: "threads that one connection may follow",
		at: func(c *Config) any { return &c.Limits.ThreadsPerConnection }},
	{key: "limits.running_turns_per_user", preset: "32", unit: "turns, 0 = no limit", help: "turns of one user that may run at once",
		at: func(c *Config) any { return &c.Limits.RunningTurnsPerUser }},
	{key: "limits.connections", preset: "20000", unit: "connections", help: "WebSocket connections and event streams of this node; one more is refused with 503",
		danger: "each takes about 20 KiB of memory", at: func(c *Config) any { return &c.Limits.Connections }},
	{key: "limits.connections_per_user", preset: "1000", unit: "connections", help: "of these, for one user; one more is refused with 429",
		danger: "without authentication everybody who names no user is the same one", at: func(c *Config) any { return &c.Limits.ConnectionsPerUser }},
	{key: "limits.commands_per_second", preset: "500", unit: "commands per second", help: "commands and HTTP calls of one user on this node, in the long run; twice as many at once; more are refused as rate_limited",
		at: func(c *Config) any { return &c.Limits.CommandsPerSecond }},
	{key: "limits.arriving_bytes", preset: "256MiB", unit: "bytes", help: "what messages and bodies of more than 16 KiB may take together while they arrive and are carried out, a quarter of it for one user; more is refused with 429 or 503, and closes a socket with 1013",
		danger: "a node needs up to three times as much memory for them; at least four times limits.inbound_bytes", at: func(c *Config) any { return &c.Limits.ArrivingBytes }},

	{key: "http.origins", preset: "", unit: "list of origins", help: "web pages of other hosts that may connect and call, like https://app.example.com, https://*.example.com or http://localhost:*; pages of the same host always may",
		danger: "* allows every page and needs authentication", at: func(c *Config) any { return &c.HTTP.Origins }},
	{key: "http.trusted_proxies", preset: "", unit: "list of addresses and CIDR ranges", help: "proxies whose X-Forwarded-For and Forwarded headers are believed",
		danger: "an address that clients can have lets them choose theirs", at: func(c *Config) any { return &c.HTTP.TrustedProxies }},
	{key: "tls.cert", preset: "", unit: "PEM file", help: "certificate chain for https and wss, read again when it changes; empty: no TLS here", at: func(c *Config) any { return &c.TLS.Cert }},
	{key: "tls.key", preset: "", unit: "PEM file", help: "private key of tls.cert", at: func(c *Config) any { return &c.TLS.Key }},

	{key: "agent", preset: agentDemo, unit: "demo, command or a name of the list agents",
		help: "what answers messages that name no agent; command runs the program behind -- once per turn; left out, the first of the list agents", at: func(c *Config) any { return &c.Agent.Name }},
	{key: "agent.stdin", preset: "json", unit: "json or text", choices: []string{"json", stdinText},
		help: "what the program of agent command reads: JSON lines, or only the message's text", at: func(c *Config) any { return &c.Agent.Stdin }},

	{key: "log.level", preset: "info", unit: "debug, info, warn or error", choices: []string{"debug", "info", "warn", "error"},
		help: "least severe log line written to stderr", danger: "debug may show message contents", at: func(c *Config) any { return &c.Log.Level }},
	{key: "log.format", preset: "text", unit: "text or json", choices: []string{"text", "json"}, help: "shape of log lines",
		at: func(c *Config) any { return &c.Log.Format }},
}
