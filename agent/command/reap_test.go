//go:build linux

package command_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"turnlog/agent/command"
)

// becomeSubreaper makes orphans below this process its children, as they are for
// process 1 of a container.
func becomeSubreaper(t *testing.T, on uintptr) {
	t.Helper()
	const prSetChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, on, 0); errno != 0 {
		t.Fatal(errno)
	}
}

func TestProcessOneKeepsNoZombies(t *testing.T) {
	becomeSubreaper(t, 1)
	t.Cleanup(func() { becomeSubreaper(t, 0) })
	for name, script := range map[string]string{
		"stopped":        `sleep 60 & sleep 61 & echo $!; wait`,
		"ends by itself": `sleep 60 & echo $!`,
	} {
		t.Run(name, func(t *testing.T) {
			turn := turn()
			a := newAgent(t, command.Options{Command: []string{"sh", "-c", script}, Stdin: command.StdinText})
			if name == "stopped" {
				turn, _ = stop(t, a, 1)
			} else if err := a.Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(turn.Text()))
			if err != nil {
				t.Fatal(err)
			}
			if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
				t.Fatalf("process %d was not collected: %s", pid, stat)
			}
		})
	}
}
