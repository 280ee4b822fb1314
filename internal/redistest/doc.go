// Package redistest gives tests a Redis: the real server, started on a free
// port, or miniredis.
//
// # Guarantees
//
// Start returns an empty server that no other test holds: real servers are kept
// for the life of the test binary and handed from test to test, emptied in
// between (keys, scripts, maxmemory). A test that asks twice, or tests that run
// in parallel, get one each. Servers listen on 127.0.0.1 only and store nothing.
//
// # Concurrency and failure
//
// All functions may be called from parallel tests. Where no redis-server is
// installed the test fails and says what to install; nothing is skipped. Servers
// end with the test binary, also when it is killed.
package redistest
