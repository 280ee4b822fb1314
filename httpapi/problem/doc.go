// Package problem writes errors as RFC 9457 problem documents, whose code members
// are stable: clients branch on them, never on texts.
//
// A document says nothing about what was not found or to whom it belongs. The
// package holds no state and is safe for concurrent use.
package problem
