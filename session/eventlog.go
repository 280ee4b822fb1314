package session

import "turnlog/eventlog"

// On makes the event log a session's Log.
func On(l *eventlog.Log) Log { return onEventlog{l} }

type onEventlog struct{ *eventlog.Log }

// NewWriter returns the concrete writer as the port that the session needs.
func (l onEventlog) NewWriter(fence eventlog.Fence, admission eventlog.Admission, opts eventlog.WriterOptions) Writer {
	return l.Log.NewWriter(fence, admission, opts)
}
