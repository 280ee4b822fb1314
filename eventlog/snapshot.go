package eventlog

import "time"

// Cursor is where a viewer wants to go on.
type Cursor struct {
	LastSeq int64  // last chat_seq seen; <= 0 = fresh
	Epoch   string // epoch LastSeq belongs to; "" = the client knows no epochs
	Full    bool   // everything held, from the oldest frame
	Live    bool   // only what comes from now on (follow)
}

// Snapshot is one consistent look at a thread.
type Snapshot struct {
	Status         Status
	Outcome        Outcome // of a finished turn
	Epoch          string  // may be empty for a thread that never ran
	TurnID         string
	Attempt        int
	Ordinal        int64
	LastSeq        int64
	TurnFirstSeq   int64 // first frame of the newest turn
	LastMessageSeq int64 // newest "message" frame of the newest turn, 0 = none
	FirstHeld      int64 // oldest frame still held, 0 = none
	Policy         Policy
	Owner          string
	GraceDeadline  time.Time // zero unless a grace is running
	Open           []OpenRequest
	Page           []StoredFrame    // first page after the cursor, may be empty
	Behind         int64            // bytes of the frames behind Page, 0 when Page is empty
	Turns          map[int64]string // turn ids by ordinal, of the turns in Page
}

// Header is what a viewer is told before frames (chat_resumed).
type Header struct {
	Thread           Thread
	Status           Status
	LastSeq          int64
	ReplayCount      int64
	ReplayIncomplete bool
	Epoch            string
	FirstSeq         int64 // first frame that will be replayed; 0 when none
	TurnID           string
	Outcome          Outcome
	Policy           Policy
	GraceDeadline    time.Time

	// Unnumbered are open requests from before the replay, delivered right
	// behind the header without chat_seq.
	Unnumbered []OpenRequest
}
