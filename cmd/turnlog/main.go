package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func main() {
	err := newRootCommand().ExecuteContext(context.Background())
	if err == nil {
		return
	}
	if text := err.Error(); text != "" { // what only has an exit code was told already
		fmt.Fprintln(os.Stderr, "turnlog: "+text)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}
