// Package call is what the HTTP APIs of a node have in common: handlers that return
// errors, the one table that maps errors to problem documents, routes, and the reading
// of bodies and queries.
//
// # Guarantees
//
//   - Every answer has a request id and is not cached. A failure is a problem document
//     with a stable code; errors that nobody knows are logged here and nowhere else, and
//     answered without their text.
//   - Paths are taken as they were sent: what is not in its shortest form is not found.
//   - Bodies are bounded in size, nesting and elements before they are decoded.
//
// The package holds no state and is safe for concurrent use.
package call
