package eventlog

var _ Store = (*Log)(nil)

// LiveChannel names the channel on which a thread's appends are published.
func (l *Log) LiveChannel(t Thread) (string, error) { return l.liveChannel(t) }
