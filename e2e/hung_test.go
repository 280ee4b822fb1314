package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// While Redis hangs each command is refused within two command timeouts, and
// what was refused can be sent again afterwards.
func TestCommandsAreRefusedSoonWhileRedisHangs(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick("--redis.command_timeout", "1s", "--node.lease", "30s")...)
	user := someone()
	commands := map[string]object{
		"stop": {}, "steer": {"content": "x"}, "set_policy": {"on_disconnect": "preserve"},
		"set_permission_mode": {"permission_mode": "auto"}, "list_chat_turns": {}, "resume_chat": {}, "follow": {}, "chat_message": {"content": "x"},
	}
	viewers := map[string]*viewer{}
	for name := range commands {
		viewers[name] = dial(t, p.url(0, user))
	}
	viewers["stop"].say("held", object{"frames": 1, "approval": object{"tool_name": "x", "at": 1}})
	viewers["stop"].typed("held", "tool_approval_request")

	p.redis.signal(syscall.SIGSTOP)
	t.Cleanup(func() { p.redis.signal(syscall.SIGCONT) })
	begin := time.Now()
	asked := map[string]string{}
	for name, data := range commands {
		all := object{"thread_id": "other"}
		if name == "stop" {
			all["thread_id"] = "held"
		}
		for key, value := range data {
			all[key] = value
		}
		id, err := viewers[name].Command(name, all)
		if err != nil {
			t.Fatal(err)
		}
		asked[name] = id
	}
	for name, id := range asked {
		_, ack, err := viewers[name].Await(0, 20*time.Second, func(m wire.Message) bool { return m.Ack(id) })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if ack.Str("code") != "unavailable" || !ack.Bool("retryable") {
			t.Errorf("%s: %s", name, ack)
		}
		if took := ack.At.Sub(begin); took > 6*time.Second { // of 2 s on a quiet machine
			t.Errorf("%s was answered after %v", name, took)
		}
	}
	p.redis.signal(syscall.SIGCONT)
	viewers["stop"].ok("stop", object{"thread_id": "held"})
	viewers["follow"].ok("follow", object{"thread_id": "other"})
}
