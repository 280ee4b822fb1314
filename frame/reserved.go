package frame

// reserved types say something about the turn or the connection; clients would
// believe them.
var reserved = map[string]bool{
	"turn_started": true, "turn_finished": true, "generation_stopped": true,
	"request_open": true, "request_closed": true, "chat_resumed": true, "chat_turn_active": true,
	"welcome": true, "ping": true, "pong": true, "submission_dropped": true,
}

// Reserved says whether only the runtime may emit frames of this type.
func Reserved(typ string) bool { return reserved[typ] }
