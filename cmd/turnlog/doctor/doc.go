// Package doctor looks at the Redis of a deployment and says what is not as Turnlog needs
// it, what that means, and what to do about it.
//
// Collect reads Facts; Judge makes Checks of them and touches nothing. So every judgement
// can be tested without a server that has the illness.
//
// # Guarantees
//
//   - Nothing is written, and no script of the log is run. Rights are probed by queueing each
//     command in a MULTI that is discarded: Redis checks them when it queues.
//   - What a server does not tell (managed ones hide CONFIG, others INFO) is no failure; the
//     check says that it is not known.
//   - A check is Fail when turns cannot run, or what was acknowledged gets lost in an ordinary
//     mishap (a restart, full memory); Warn when it works, but worse than it could, or when it will
//     fail as things grow; else OK.
//
// # Failure model
//
// Collect is bounded by its context and by one timeout per command. Errors are facts like
// others: a Redis that does not answer gives one failed check and no others.
package doctor
