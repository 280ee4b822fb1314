//go:build soak

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"turnlog/e2e/wire"
)

// innocent is a user who talks to the demo agent while others attack the node: one socket
// on which turns run, and again and again a new one that resumes.
type innocent struct {
	name, thread string
	url          string
	token        string

	mu      sync.Mutex
	frames  []time.Duration // from the agent's word to the reader
	resumes []time.Duration // from dialling to the acknowledgement
	turns   int
}

// A turn of an innocent: 40 frames in a second.
const innocentFrames = 40

func (u *innocent) dial(ctx context.Context) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, u.url, &websocket.DialOptions{Subprotocols: withToken(u.token).Protocols})
	if err == nil {
		ws.SetReadLimit(-1)
	}
	return ws, err
}

// spoken is what an innocent looks at in a message.
type spoken struct {
	Type, Error, Outcome, Content string
	Message                       json.RawMessage // a sentence, or a message
	At                            struct {
		T int64 `json:"t"` // microseconds since 1970
	} `json:"content_metadata"`
}

func send(ctx context.Context, ws *websocket.Conn, name string, data object) error {
	b, err := json.Marshal(object{"command": name, "data": data})
	if err != nil {
		return err
	}
	return ws.Write(ctx, websocket.MessageText, b)
}

func listen(ctx context.Context, ws *websocket.Conn) (h spoken, err error) {
	_, b, err := ws.Read(ctx)
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err == nil && h.Error != "" {
		err = fmt.Errorf("refused: %s", b)
	}
	return h, err
}

// live runs turns until ctx ends. Anything but complete turns is an error.
func (u *innocent) live(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	ws, err := u.dial(dialing)
	if err != nil {
		return fmt.Errorf("%s: %w", u.name, err)
	}
	defer ws.CloseNow()
	for ctx.Err() == nil {
		if err := u.turn(ws); err != nil {
			return fmt.Errorf("%s, turn %d: %w", u.name, u.turns, err)
		}
	}
	return nil
}

func (u *innocent) turn(ws *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // a turn is run to its end
	defer cancel()
	say := object{"thread_id": u.thread, "content": "x", "demo": object{"frames": innocentFrames, "interval_ms": 25, "stamp": true}}
	if err := send(ctx, ws, "chat_message", say); err != nil {
		return err
	}
	var text strings.Builder
	for {
		h, err := listen(ctx, ws)
		now := time.Now()
		switch {
		case err != nil:
			return err
		case h.Type == "chunk":
			text.WriteString(h.Content)
			if h.At.T > 0 {
				u.mu.Lock()
				u.frames = append(u.frames, now.Sub(time.UnixMicro(h.At.T)))
				u.mu.Unlock()
			}
		case h.Type == "turn_finished":
			if h.Outcome != "completed" || text.String() != wire.DemoText(innocentFrames, 0) {
				return fmt.Errorf("ended %s with %q", h.Outcome, text.String())
			}
			u.mu.Lock()
			u.turns++
			u.mu.Unlock()
			return nil
		}
	}
}

// comeBack resumes on new sockets until ctx ends.
func (u *innocent) comeBack(ctx context.Context) error {
	for ctx.Err() == nil {
		begin := time.Now()
		if err := u.resume(); err != nil {
			return fmt.Errorf("%s comes back: %w", u.name, err)
		}
		u.mu.Lock()
		u.resumes = append(u.resumes, time.Since(begin))
		u.mu.Unlock()
		pause(ctx, 100*time.Millisecond)
	}
	return nil
}

func (u *innocent) resume() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, err := u.dial(ctx)
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	if err := send(ctx, ws, "resume_chat", object{"thread_id": u.thread}); err != nil {
		return err
	}
	for {
		h, err := listen(ctx, ws)
		if err != nil {
			return err
		}
		if m := string(h.Message); m == `"Chat resumed"` || m == `"No chat turn to resume"` {
			return nil
		}
	}
}

// spread is where most of some durations lie.
type spread struct {
	n             int
	p50, p99, max time.Duration
}

func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[min(len(all)-1, int(q*float64(len(all))))] }
	return spread{len(all), at(.5), at(.99), all[len(all)-1]}
}

// String is for people.
func (s spread) String() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
	return fmt.Sprintf("p50 %s ms, p99 %s ms, max %s ms (%d)", ms(s.p50), ms(s.p99), ms(s.max), s.n)
}

// lives lets all innocents live for so long and tells what they felt.
func lives(ctx context.Context, all []*innocent, duration time.Duration) (frames, resumes spread, err error) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var wg sync.WaitGroup
	errs := make(chan error, 2*len(all))
	for _, u := range all {
		u.frames, u.resumes = nil, nil
		wg.Go(func() { errs <- u.live(ctx) })
		wg.Go(func() { errs <- u.comeBack(ctx) })
	}
	wg.Wait()
	close(errs)
	var f, r []time.Duration
	for e := range errs {
		err = errors.Join(err, e)
	}
	for _, u := range all {
		f, r = append(f, u.frames...), append(r, u.resumes...)
	}
	return spreadOf(f), spreadOf(r), err
}
