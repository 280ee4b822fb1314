package main

import (
	"time"

	"turnlog/eventlog"
)

// Config is every setting, read once at start. The table in settings.go says
// what each one means; packages get their own Options made from it and never
// read flags or the environment.
type Config struct {
	Listen     string
	Insecure   bool
	Partitions int

	Auth       AuthConfig
	Redis      RedisConfig
	Replay     ReplayConfig
	History    HistoryConfig
	Disconnect DisconnectConfig
	Turn       TurnConfig
	Node       NodeConfig
	Drain      DrainConfig
	Limits     LimitsConfig
	HTTP       HTTPConfig
	TLS        TLSConfig
	Agent      AgentConfig
	Log        LogConfig

	Kinds  []KindRule  // from the file only
	Agents []AgentSpec // from the file only
}

// RedisConfig says where the log lives and how long to wait for it.
type RedisConfig struct {
	URL            string
	PoolSize       int
	OutageBudget   time.Duration
	CommandTimeout time.Duration
	StartTimeout   time.Duration
}

// ReplayConfig bounds what a thread's log holds.
type ReplayConfig struct {
	MaxFrames int
	MaxBytes  Bytes
	Retention time.Duration
}

// HistoryConfig bounds how long messages and numbering live.
type HistoryConfig struct {
	Retention time.Duration
}

// DisconnectConfig says what happens to a turn that nobody watches.
type DisconnectConfig struct {
	Policy          eventlog.Policy
	Grace           time.Duration
	ReconnectWindow time.Duration
}

// TurnConfig bounds turns.
type TurnConfig struct {
	OnBusy      eventlog.OnBusy
	OnOwnerLost string
	MaxDuration time.Duration
	StallAfter  time.Duration
	StopTimeout time.Duration
	ToolTimeout time.Duration
}

// NodeConfig is the node's lease.
type NodeConfig struct {
	Lease     time.Duration
	Heartbeat time.Duration
}

// DrainConfig is the way down.
type DrainConfig struct {
	Timeout     time.Duration
	CloseSpread time.Duration
}

// LimitsConfig bounds what clients and agents may ask for.
type LimitsConfig struct {
	FrameBytes           Bytes
	InboundBytes         Bytes
	ThreadsPerConnection int
	RunningTurnsPerUser  int
	Connections          int
	ConnectionsPerUser   int
	CommandsPerSecond    int
	ArrivingBytes        Bytes
}

// HTTPConfig says whose pages may call, and which proxies are believed.
type HTTPConfig struct {
	Origins        []string
	TrustedProxies []string
}

// TLSConfig names the files of a certificate; both are empty without TLS.
type TLSConfig struct {
	Cert string
	Key  string
}

// AgentConfig chooses the agent.
type AgentConfig struct {
	Name    string
	Stdin   string
	Command []string // program and arguments, from behind "--"
}

// LogConfig shapes the log lines on stderr.
type LogConfig struct {
	Level  string
	Format string
}

// The values of turn.on_owner_lost.
const (
	ownerLostFail    = "fail"
	ownerLostRestart = "restart"
)

// The types of agents.
const (
	agentDemo    = "demo"
	agentCommand = "command"
	agentOpenAI  = "openai"
	agentWebhook = "webhook"
)

// stdinText is the value of agent.stdin for programs that know nothing of frames.
const stdinText = "text"
