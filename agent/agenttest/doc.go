// Package agenttest has a Turn for tests of agents: it records what the agent
// emits, checks frames as the runtime does, and fails on demand.
//
// # Guarantees
//
// A frame that the runtime would refuse is refused here, with the same error;
// what is recorded is what the log would have kept. Nothing happens by itself:
// without Asking a request stays open until its context ends, and an input is
// there only while Send offers it.
//
// # Concurrency and failure
//
// A Turn is safe for concurrent use once its exported fields are set. To end it
// from outside, cancel the context of Run with an *agent.Ended as its cause.
// Await fails the test after ten seconds instead of hanging it.
package agenttest
