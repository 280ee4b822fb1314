package eventlog

import "context"

func (l *lane) settle(_ context.Context, w *Writer, got any) error {
	list, _ := got.([]any)
	r := reply(list)
	w.lose(&FencedError{Outcome: Outcome(r.str(1))})
	return nil
}

// remember keeps what may have to be written again.
func (w *Writer) remember(first int64, entries []Entry) {
	for i, e := range entries {
		w.tail.push(first+int64(i), e)
	}
}
