package verify

import (
	"encoding/json"
	"fmt"
	"time"
)

// History is everything that one run recorded.
type History struct {
	Threads []*Thread
	Lethal  []Window // when a node may have lost its turns, and which
	Drained bool     // some node was told to end
	Left    Residue
}

// Window is a time in which a node's standing was in doubt.
type Window struct {
	Node     int
	From, To time.Time
}

// Thread is one thread's part.
type Thread struct {
	User, ID    string
	Epoch       string   // at the end
	Log         []*Frame // as stored at the end, in order; nil when unknown
	Running     bool     // a turn still runs at the end
	Submissions []*Submission
	Steers      []*Submission
	Stops       int // stop commands that may have been received
	Viewers     []*Viewer
}

// Submission is a message or a steer that a viewer sent, possibly several times under one id.
type Submission struct {
	ID     string
	Text   string // its content
	Script Script
	OnBusy string
	Policy string

	Acked  bool
	Queued bool   // the acknowledgement said so
	TurnID string // as acknowledged
}

// Script is what the demo agent was asked for.
type Script struct {
	Frames     int     `json:"frames"`
	Interval   float64 `json:"interval_ms"`
	Bytes      int     `json:"bytes,omitempty"`
	Checkpoint int     `json:"checkpoint_every,omitempty"`
	FailAt     int     `json:"fail_at,omitempty"`
	Tool       *Ask    `json:"tool_call,omitempty"`
	Approval   *Ask    `json:"approval,omitempty"`
}

// Ask is a request in a script.
type Ask struct {
	Name     string `json:"name,omitempty"`
	ToolName string `json:"tool_name,omitempty"`
	At       int    `json:"at"`
}

// Viewer is what one viewer was told about one thread.
type Viewer struct {
	Name    string
	Sockets []*Socket
	Told    []Event // client package only: what it passed on, across sockets
}

// Socket is one connection's record of the thread, in order.
type Socket struct {
	Node           int
	Opened, Closed time.Time
	Events         []Event
}

// Event is one of: a resume that was sent, a header, a frame.
type Event struct {
	At     time.Time
	Resume *Cursor
	Header *Header
	Frame  *Frame
}

// Cursor is what a resume_chat carried.
type Cursor struct {
	LastSeq int64
	Epoch   string
}

// Header is a chat_resumed.
type Header struct {
	Status      string `json:"status"`
	LastSeq     int64  `json:"last_seq"`
	FirstSeq    int64  `json:"first_seq"`
	ReplayCount int64  `json:"replay_count"`
	Incomplete  bool   `json:"replay_incomplete"`
	Epoch       string `json:"epoch"`
	TurnID      string `json:"turn_id"`
	Outcome     string `json:"outcome"`
}

// Frame is a frame of a thread. Equal frames of a thread share one Frame.
type Frame struct {
	Seq    int64 // 0 = unnumbered
	Turn   string
	Type   string
	Body   string // the object without chat_seq, thread_id, turn_id (and epoch of turn_started), keys sorted
	Object map[string]any
}

// NewFrame takes a decoded object as a viewer receives it. It changes the object.
func NewFrame(o map[string]any) (*Frame, error) {
	f := &Frame{Object: o}
	f.Type, _ = o["type"].(string)
	f.Turn, _ = o["turn_id"].(string)
	if seq, ok := o["chat_seq"].(float64); ok {
		f.Seq = int64(seq)
	}
	for _, key := range []string{"chat_seq", "thread_id", "turn_id"} {
		delete(o, key)
	}
	if f.Type == "turn_started" {
		delete(o, "epoch") // added on delivery, like those: the log does not hold it
	}
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	f.Body = string(body)
	return f, nil
}

func (f *Frame) str(key string) string { s, _ := f.Object[key].(string); return s }

func (f *Frame) flag(key string) bool { b, _ := f.Object[key].(bool); return b }

func (f *Frame) String() string {
	if f == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d %s %.160s", f.Seq, f.Turn, f.Body)
}

// Kind names what is wrong.
type Kind string

// The kinds of findings.
const (
	Gap              Kind = "gap"
	Repeat           Kind = "repeat"
	BadHeader        Kind = "bad header"
	TwoContents      Kind = "two contents for a number"
	NotInLog         Kind = "not in the log"
	SecondWriter     Kind = "second writer"
	DoubleTerminal   Kind = "two terminal frames"
	AfterTerminal    Kind = "frame after the terminal one"
	NoTerminal       Kind = "no terminal frame"
	WrongContent     Kind = "wrong content"
	WrongOutcome     Kind = "unexplained outcome"
	RequestNotClosed Kind = "request not closed once"
	LostTurn         Kind = "acknowledged turn lost"
	DoubleTurn       Kind = "one submission, two turns"
	SteerTwice       Kind = "steer twice"
	SteerLost        Kind = "steer lost"
	DetachedWatched  Kind = "ended as detached while watched"
	NewEpoch         Kind = "new epoch without a loss"
	StuckViewer      Kind = "viewer stuck"
	LeftRunning      Kind = "left running"
	LeftBehind       Kind = "left behind"
	Unhealthy        Kind = "unhealthy node"
)

// Finding is one violation.
type Finding struct {
	Kind Kind
	Text string
}

func (f Finding) String() string { return string(f.Kind) + ": " + f.Text }

// Check returns every violation of the History.
func Check(h *History) []Finding {
	var out []Finding
	for _, t := range h.Threads {
		c := &checker{history: h, thread: t}
		c.sockets()
		c.contents()
		c.turns()
		c.submissions()
		c.watched()
		out = append(out, c.findings...)
	}
	return append(out, h.Left.check()...)
}

// checker collects the findings of one thread.
type checker struct {
	history  *History
	thread   *Thread
	ran      []*ran
	findings []Finding
}

func (c *checker) found(k Kind, format string, args ...any) {
	c.findings = append(c.findings, Finding{k, c.thread.User + "/" + c.thread.ID + ": " + fmt.Sprintf(format, args...)})
}
