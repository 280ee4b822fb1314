// Package process runs the children of tests that need real processes: nodes,
// clients and redis-server.
//
// # Guarantees
//
// A child dies with the process that started it, however that ends (on Linux,
// which these tests need). It is signalled by its pid alone. What it writes is
// kept up to OutputLimit; when that is spent the oldest half goes. A wait for a
// line sees everything that the child wrote before it ended.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Nothing waits without a bound, apart
// from Kill, which waits for the kernel. Errors carry what the child had written.
package process
