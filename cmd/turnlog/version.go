package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// newVersionCommand prints what was built.
func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, revision and Go version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), buildVersion())
			return err
		},
	}
}

// buildVersion describes the binary from the build information Go puts into it.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "turnlog (no build information) " + runtime.Version()
	}
	parts := []string{"turnlog", info.Main.Version}
	settings := make(map[string]string, len(info.Settings))
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		parts = append(parts, "revision", revision, settings["vcs.time"])
		if settings["vcs.modified"] == "true" {
			parts = append(parts, "(modified)")
		}
	}
	parts = append(parts, info.GoVersion, runtime.GOOS+"/"+runtime.GOARCH)
	return strings.Join(parts, " ")
}
