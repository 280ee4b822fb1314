package limit

import "fmt"

// Options are the limits. Zero values mean the defaults.
type Options struct {
	Connections        int     // of all users (default 20,000)
	ConnectionsPerUser int     // (default 1,000, or Connections when that is less)
	CallsPerUser       int     // calls of one user that are carried out at once (default 64)
	CommandsPerSecond  float64 // of one user (default 500)
	Burst              int     // commands at once (default twice CommandsPerSecond, at least 1)
	Users              int     // users kept that have no connection and no call (default 65,536)
}

func (o Options) withDefaults() Options {
	if o.Connections == 0 {
		o.Connections = 20_000
	}
	if o.ConnectionsPerUser == 0 {
		o.ConnectionsPerUser = min(1_000, o.Connections)
	}
	if o.CallsPerUser == 0 {
		o.CallsPerUser = 64
	}
	if o.CommandsPerSecond == 0 {
		o.CommandsPerSecond = 500
	}
	if o.Burst == 0 {
		o.Burst = max(1, int(2*o.CommandsPerSecond))
	}
	if o.Users == 0 {
		o.Users = 1 << 16
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Connections < 1 || o.ConnectionsPerUser < 1:
		return fmt.Errorf("limit: Connections and ConnectionsPerUser must be positive, not %d and %d", o.Connections, o.ConnectionsPerUser)
	case o.CallsPerUser < 1:
		return fmt.Errorf("limit: CallsPerUser must be positive, not %d", o.CallsPerUser)
	case !(o.CommandsPerSecond > 0) || o.CommandsPerSecond > 1e9 || o.Burst < 1:
		return fmt.Errorf("limit: CommandsPerSecond and Burst must be positive, not %g and %d", o.CommandsPerSecond, o.Burst)
	case o.Users < shards:
		return fmt.Errorf("limit: Users must be at least %d, not %d", shards, o.Users)
	}
	return nil
}
