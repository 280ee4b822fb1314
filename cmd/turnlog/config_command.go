package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// newConfigCommand prints the effective configuration.
func newConfigCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective configuration and where each value comes from",
		Long: "Prints every setting with its effective value and source; passwords are masked.\n" +
			"It takes the flags of serve, so that a command line can be checked before it is used.",
		Example: "  turnlog config\n  turnlog config --config turnlog.yaml --json | jq -r '.[\"redis.url\"].source'",
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := loadCommand(cmd.Flags())
			if err != nil {
				return err
			}
			config.Agent.Command = args
			for _, warning := range config.warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+warning)
			}
			if err := writeConfig(cmd.OutOrStdout(), config, asJSON); err != nil {
				return err
			}
			return config.validate()
		},
	}
	addSettingFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printedSetting is one setting as `turnlog config` shows it.
type printedSetting struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}

// writeConfig prints the settings in the order of the table.
func writeConfig(w io.Writer, config *loaded, asJSON bool) error {
	printed := make(map[string]printedSetting, len(settings))
	for _, s := range settings {
		value := s.text(&config.Config)
		switch {
		case s.unflagged && value != "":
			value = "***"
		case s.secret:
			value = maskURL(value)
		}
		printed[s.key] = printedSetting{Value: value, Source: config.source[s.key]}
	}
	rows := settingKeys()
	if len(config.Kinds) > 0 {
		printed[kindsKey] = printedSetting{Value: kindsText(config.Kinds), Source: config.source[kindsKey]}
		rows = append(rows, kindsKey)
	}
	if len(config.Agents) > 0 {
		printed[agentsKey] = printedSetting{Value: agentsText(config.Agents), Source: config.source[agentsKey]}
		rows = append(rows, agentsKey)
	}
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(printed)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, key := range rows {
		p := printed[key]
		value := p.Value
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", key, value, p.Source)
	}
	return table.Flush()
}
