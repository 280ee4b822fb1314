package frame

import (
	"encoding/json"
	"strconv"
)

// Splice appends b, a stripped frame, to dst with the keys thread_id, turn_id
// and chat_seq added at its end. It does not validate b.
func Splice(dst, b []byte, threadID, turnID string, seq int64) []byte {
	b = trim(b)
	if len(b) < 2 || b[len(b)-1] != '}' {
		return append(dst, b...)
	}
	body := b[:len(b)-1]
	dst = append(dst, body...)
	if len(trim(body)) > 1 {
		dst = append(dst, ',')
	}
	dst = append(dst, `"thread_id":`...)
	dst = AppendString(dst, threadID)
	dst = append(dst, `,"turn_id":`...)
	dst = AppendString(dst, turnID)
	dst = append(dst, `,"chat_seq":`...)
	dst = strconv.AppendInt(dst, seq, 10)
	return append(dst, '}')
}

// SpliceEpoch is Splice with the key epoch behind the others.
func SpliceEpoch(dst, b []byte, threadID, turnID string, seq int64, epoch string) []byte {
	from := len(dst)
	dst = Splice(dst, b, threadID, turnID, seq)
	if len(dst)-from < 2 || dst[len(dst)-1] != '}' {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"epoch":`...)
	dst = AppendString(dst, epoch)
	return append(dst, '}')
}

// AppendChunk appends a chunk with the given text to dst.
func AppendChunk(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"chunk","content":`...)
	dst = AppendString(dst, text)
	return append(dst, '}')
}

// Chunk returns a chunk with the given text.
func Chunk(text string) []byte {
	return AppendChunk(make([]byte, 0, len(text)+len(text)/16+40), text)
}

// Done returns the chunk that ends a turn's text.
func Done() []byte { return []byte(`{"type":"chunk","content":"","done":true}`) }

// Message returns an assistant message with plain text. truncated says that
// the text was cut to fit, partial that the turn ended early.
func Message(text string, truncated, partial bool) []byte {
	dst := make([]byte, 0, len(text)+len(text)/16+96)
	dst = append(dst, `{"type":"message","role":"assistant","content":`...)
	dst = AppendString(dst, text)
	if truncated {
		dst = append(dst, `,"truncated":true`...)
	}
	if partial {
		dst = append(dst, `,"partial":true`...)
	}
	return append(dst, '}')
}

// AppendThinking appends a chunk with a piece of the model's reasoning to dst.
func AppendThinking(dst []byte, text string) []byte {
	dst = AppendChunk(dst, text)
	return append(dst[:len(dst)-1], `,"thinking":true}`...)
}

// Error returns an error frame; typ is its error_type and may be empty.
func Error(msg, typ string) []byte { return ErrorStatus(msg, typ, 0) }

// ErrorStatus is Error with the HTTP status of whoever failed; 0 = none.
func ErrorStatus(msg, typ string, status int) []byte {
	dst := append([]byte(nil), `{"type":"error","message":`...)
	dst = AppendString(dst, msg)
	if typ != "" {
		dst = append(dst, `,"error_type":`...)
		dst = AppendString(dst, typ)
	}
	if status != 0 {
		dst = append(dst, `,"status_code":`...)
		dst = strconv.AppendInt(dst, int64(status), 10)
	}
	return append(dst, '}')
}

// TurnFinished returns a turn's last frame. errMsg and usage are left out when
// empty; usage must be valid JSON.
func TurnFinished(outcome, errMsg string, usage json.RawMessage) []byte {
	dst := append([]byte(nil), `{"type":"turn_finished","outcome":`...)
	dst = AppendString(dst, outcome)
	if errMsg != "" {
		dst = append(dst, `,"error":`...)
		dst = AppendString(dst, errMsg)
	}
	if len(usage) > 0 {
		dst = append(dst, `,"usage":`...)
		dst = append(dst, usage...)
	}
	return append(dst, '}')
}

// GenerationStopped returns the frame of a stopped turn.
func GenerationStopped(message string) []byte {
	dst := append([]byte(nil), `{"type":"generation_stopped","message":`...)
	dst = AppendString(dst, message)
	return append(dst, `,"job_id":null}`...)
}
