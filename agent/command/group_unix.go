//go:build unix

package command

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// ownGroup makes the process the leader of a new process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

const (
	reapEvery = 2 * time.Millisecond
	reapTries = 25
)

// reapGroup collects what was killed with the program but not started by us: as
// process 1 of a container, or a subreaper, we inherit it, and nobody else would.
// Everywhere else there is nothing to collect, and it returns at once.
func reapGroup(cmd *exec.Cmd) {
	for range reapTries {
		var err error
		pid := 1
		for pid > 0 || errors.Is(err, syscall.EINTR) {
			pid, err = syscall.Wait4(-cmd.Process.Pid, nil, syscall.WNOHANG, nil)
		}
		if err != nil { // there are none
			return
		}
		timer := time.NewTimer(reapEvery) // killed, and not dead yet
		<-timer.C
	}
}
