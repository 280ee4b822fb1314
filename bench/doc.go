// Package bench measures a deployment, or nodes that it starts itself: what
// `turnlog bench` runs. Every workload returns one Result with the machine, the
// versions, the parameters and the figures; where there is a limit to compare
// with (plain XADD for append), it is measured in the same run, because ratios
// travel between machines and absolute figures do not.
//
// # Workloads
//
//	append    fenced appends by one process against plain pipelined XADD
//	live      one viewer per thread, agents at a fixed rate; latency and CPU per frame
//	saturate  the same with agents as fast as they can
//	resume    one viewer far behind on a node that has never seen the thread
//	detached  turns that wait while nobody watches, against the node without any
//
// # Guarantees
//
// Viewers check what they get: every thread's numbers have to go up by one, and
// a result says how many were missing or came twice (trimmed_frames were missing
// too, but a new header said so: the viewer was further behind than the log
// reaches). CPU is read from /proc for
// processes on this machine, Redis' own figures come from INFO. Latency is the
// time from the making of a chunk in the agent to its arrival here; across
// machines it needs clocks that agree.
//
// # Concurrency and failure
//
// One Run at a time. What a run starts (Redis, nodes) it ends, also when it
// fails or its context ends; threads on a deployment that is only measured are
// left to their retention.
package bench
