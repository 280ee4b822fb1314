package edge

import (
	"net/http"
	"time"
)

// answerPiece is how much of an answer is written under one deadline, in bytes.
const answerPiece = 64 << 10

// timedAnswer cuts clients that do not take their answers, which would otherwise be held
// in memory for as long as a client likes. Whoever sets deadlines, as event streams do,
// sees to it alone from then on.
type timedAnswer struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	latest  time.Time // when all that was written so far has to be taken; zero before the first byte
	theirs  bool      // the deadlines are somebody else's, or there are none
}

// limitAnswer gives an answer deadlines, where the connection has any. The server takes
// them away behind each answer.
func (h *Handler) limitAnswer(w http.ResponseWriter) *timedAnswer {
	return &timedAnswer{ResponseWriter: w, control: http.NewResponseController(w), limit: h.opts.AnswerLimit}
}

// Write implements http.ResponseWriter.
func (a *timedAnswer) Write(b []byte) (written int, err error) {
	for !a.theirs && len(b) > answerPiece {
		n, err := a.piece(b[:answerPiece])
		if written += n; err != nil {
			return written, err
		}
		b = b[n:]
	}
	n, err := a.piece(b)
	return written + n, err
}

func (a *timedAnswer) piece(b []byte) (int, error) {
	if !a.theirs {
		a.theirs = a.control.SetWriteDeadline(a.due(len(b), time.Now())) != nil
	}
	return a.ResponseWriter.Write(b)
}

// due is when the next n bytes have to be taken: within the limit, and not so slowly that
// all pieces together take longer than an answer may.
func (a *timedAnswer) due(n int, now time.Time) time.Time {
	due := now.Add(a.limit)
	if a.latest.IsZero() {
		a.latest = due
	}
	if a.latest = a.latest.Add(time.Duration(n) * time.Second / slowest); a.latest.Before(due) {
		return a.latest
	}
	return due
}

// SetWriteDeadline implements what http.ResponseController looks for.
func (a *timedAnswer) SetWriteDeadline(t time.Time) error {
	a.theirs = true
	return a.control.SetWriteDeadline(t)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
