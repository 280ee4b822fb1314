// Package identity says who a request comes from, and whose thread an id names.
//
// It is the one place that turns a user and an id from outside into an
// eventlog.Thread: Identity.Thread. The edges (wsapi, httpapi) build none in any
// other way, so that nobody reaches a thread that is not theirs.
//
// Identities are values and safe for concurrent use; so are authenticators.
package identity
