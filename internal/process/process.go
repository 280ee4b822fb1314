package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pipeGrace bounds the wait for grandchildren that hold the outputs of a process that has ended.
const pipeGrace = 5 * time.Second

// Process is a child of this process.
type Process struct {
	Stdout, Stderr *Output

	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts a program. stdin may be nil.
func Start(stdin io.Reader, name string, args ...string) (*Process, error) {
	p := &Process{Stdout: newOutput(OutputLimit), Stderr: newOutput(OutputLimit), cmd: exec.Command(name, args...), done: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, p.Stdout, p.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = pipeGrace
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the exit code is asked for where it matters
		p.Stdout.end()
		p.Stderr.end()
	}()
	return p, nil
}

// Pid is the process's id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// String is the command line.
func (p *Process) String() string { return strings.Join(p.cmd.Args, " ") }

// Done is closed when the process has ended and its outputs are complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends a signal, and does nothing when the process has ended.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the process the hard way and waits for it.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Ended waits for the process to end by itself; 0 asks whether it has.
func (p *Process) Ended(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	default:
	}
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// ExitCode is the code of a process that has ended, -1 when a signal ended it or it runs.
func (p *Process) ExitCode() int {
	if !p.Ended(0) {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// RSS is the resident memory of the process in bytes, 0 when it has ended.
func (p *Process) RSS() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid()))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers
	return pages * int64(os.Getpagesize())
}
