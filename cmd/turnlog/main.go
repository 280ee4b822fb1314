package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := newRootCommand().ExecuteContext(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "turnlog: "+err.Error())
		os.Exit(1)
	}
}
