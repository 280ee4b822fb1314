// Package session runs turns: it admits submissions, runs agents, takes what
// clients send into running turns, ends turns, and keeps its node alive in the
// event log. It knows no Redis keys and no WebSocket.
//
// # A turn on its owner
//
// Each running turn has two goroutines: the agent's, and a conductor that
// takes inputs, feeds a pure state machine (phase.go) and ends the turn exactly
// once. There is no timer and no periodic work per turn; an idle turn costs two
// parked goroutines.
//
//	           agent returned                      closing frames written
//	running ----------------------> finishing ----------------------------> settled
//	   |                               ^                                       ^
//	   | stop, shutdown, outage        | agent returned, or stop timeout       |
//	   +--------------------------> winding                                    |
//	   |                               | fenced                                |
//	   | fenced: superseded,           v                                       |
//	   | detached, dead, ...         lost -------------------------------------+
//	   +----------------------------> (yield)   agent returned, or stop timeout
//
// Leaving running ends the agent's context with an *agent.Ended cause; the same
// context is the right to speak, so no frame of the agent is accepted after
// it. A stop logs the text so far, stand-ins for unanswered tool calls and
// generation_stopped in that moment, and the rest when the agent has returned.
//
// # Guarantees
//
//   - Every id is minted before the first try, so calls whose reply was lost are
//     simply made again: a verb is done once or refused with a *Refusal.
//   - Inputs are stored before anybody is woken. A lost wake-up costs at most
//     Options.Poll; a failed poll makes every turn read its inputs.
//   - An answer closes its request in the log before the agent gets it; later
//     ones find nothing to answer.
//   - A steer counts as taken when the agent has received it; the log turns the
//     others into submissions when the turn ends.
//   - The transcript of a turn is fed by what is in the log, never by what was
//     merely said, so a partial message holds exactly what viewers have seen.
//
// # Failure model
//
// An agent that panics, returns an error or cannot be told to stop ends only its
// own turn. While Redis is away agents block in Emit; when the log's outage
// budget is spent the turn ends as failed as soon as Redis can be told. A node
// that was declared dead cancels its agents as owner_lost and goes on under a new
// id. A turn that the log gives to this node and that does not run here, seen
// in two rounds of reconciling, is ended as owner_lost. Deadlines of turns live in
// the log; the reaper acts on them, this package never does.
package session
