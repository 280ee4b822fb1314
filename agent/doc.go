// Package agent is the port between the runtime and the programs that answer:
// an Agent runs one attempt of a turn and speaks through the Turn it is given.
//
// # Guarantees
//
// What the runtime promises an agent: frames enter the log in the order of its
// Emit calls, each once; an answer reaches the Ask that waits for it whether or
// not anybody was connected meanwhile; the end of its context carries the
// reason (an *Ended). What an agent owes the runtime: frames that are JSON
// objects with a string "type", and a return from Run within the stop timeout
// after its context has ended.
//
// # Concurrency
//
// Run is called for many turns at once; a Turn's methods may be called from
// several goroutines of its agent, which all have to be done when Run returns.
//
// # Failure model
//
// An agent that returns an error or panics fails its turn and nothing else. An
// agent that does not return is abandoned: its turn ends without it, and
// whatever it still emits is refused. When its node dies the turn ends as
// owner_lost, or, for agents that are Restartable, is run again elsewhere with
// the newest checkpoint and the frames emitted so far.
//
// Adapters are in the packages below: demo (deterministic, built in), command
// (any program), openai (any OpenAI-compatible endpoint) and webhook (a server that
// is asked over HTTP); relay and coalesce serve them. agenttest has a Turn for
// tests of adapters.
package agent
