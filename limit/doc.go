// Package limit bounds what users may take of one node: connections in total
// and per user, commands per second of a user across all connections and HTTP
// calls, and HTTP calls of a user that are carried out at once, since each of them
// may hold a body or a page of some megabytes for as long as its client is slow.
//
// Guarantees: no more than Options.Connections connections are granted at a
// time, no more than Options.ConnectionsPerUser of them to one user, a user
// gets at most Options.Burst commands at once and Options.CommandsPerSecond in the
// long run, and has no more than Options.CallsPerUser calls under way. The counts are
// the node's own; n nodes allow n times as much.
//
// A Room bounds bytes: what messages and bodies of more than Free bytes take while they
// arrive and are carried out, for all and for each user. What has no room is refused at
// once and never waits, so that nobody's memory is held by a queue.
//
// Memory: a user without connections and calls whose allowance is whole again is
// forgotten, because it is the same as a user never seen. Besides users with
// connections or calls at most Options.Users are kept; when there are more the one with
// the most allowance of a few is forgotten, and gets a whole one when it comes back.
//
// Concurrency: all methods may be called by many goroutines at once and never
// block for longer than a map access. Users are spread over shards with a mutex each.
package limit
