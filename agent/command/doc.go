// Package command runs any program as an agent: one process per turn, JSON lines
// both ways. docs/agents.md describes the protocol for those who write programs;
// in short: the program reads a "start" line (then inputs, answers and a stop),
// every JSON object with a "type" that it prints is a frame, and every other
// line is text. So programs that know nothing of this work too.
//
// # Guarantees
//
// Text arrives byte for byte, wherever the program's writes were cut; what is
// not UTF-8 is replaced by U+FFFD and never enters the log. Output order is kept.
// Memory is bounded: an object line by the frame limit, a text line is split,
// of stderr the last 4 KiB are kept. A program that prints faster than the log takes it is slowed by its pipe.
//
// # The process
//
// It leads a process group of its own. When the turn ends from outside it is told
// (a stop line, then end of input), then the group gets SIGTERM, then
// SIGKILL before the stop timeout is over. When the program itself has ended,
// what it left running in its group may finish its output for two seconds and is
// then killed; a process that left the group cannot hold the turn up either.
//
// # Concurrency and failure
//
// Five goroutines per turn, all gone when Run returns. A program that exits with
// another status than 0 fails its turn with the end of its stderr; so does a
// frame that is not one. If the node itself is killed, the program sees the end
// of its input and a broken pipe.
package command
