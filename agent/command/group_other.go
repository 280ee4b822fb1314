//go:build !unix

package command

import "os/exec"

// Without process groups only the program itself can be ended.
func ownGroup(*exec.Cmd) {}

func terminateGroup(*exec.Cmd) {}

func reapGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
