// Package e2e_test builds the real program, runs it as separate processes on a
// real Redis (and on its embedded one), talks to it over real sockets, and kills
// it. Nothing of the server is imported.
//
// Most behaviours run in every place of places(): one node with the embedded
// Redis, one node, two nodes and three nodes on one redis-server. url(0), url(1),
// url(2) are different nodes where there are as many, so that a test spreads its
// parties without knowing how many nodes there are.
//
// Nodes with the same settings are shared by the tests of a run; every test uses
// threads of users of its own. Tests that kill or pause a node start their own.
//
// Counts that matter (10,000 tries of a race, 5,000 viewers) are constants next to
// their test.
package e2e_test
