package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"turnlog/eventlog"
)

// newKeysCommand prints ready-made redis-cli commands for one thread.
func newKeysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys USER THREAD",
		Short: "Print redis-cli commands that show everything about a thread",
		Long: "Prints one redis-cli command per key of the thread, its user and its partition, each with\n" +
			"what it shows. Without authentication the user is 1 unless the client said otherwise.\n" +
			"It only computes names and connects to nothing; partitions and redis.url count.",
		Example: "  turnlog keys 1 thread-42\n  turnlog keys --redis redis://10.0.0.5:6379/0 alice t1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("keys wants two words, a user and a thread, not %d; like: turnlog keys 1 thread-42", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := loadCommand(cmd.Flags())
			if err != nil {
				return err
			}
			if err := config.validate(); err != nil {
				return err
			}
			thread := eventlog.Thread{User: args[0], ID: args[1]}
			keys, err := eventlog.DescribeKeys(thread, config.Partitions)
			if err != nil {
				return fmt.Errorf("no thread can be named so: %w", err)
			}
			writeKeys(cmd.OutOrStdout(), keys, config.Redis.URL)
			return nil
		},
	}
	addSettingFlags(cmd.Flags())
	return cmd
}

// writeKeys prints the commands. The password of a Redis URL is left to
// redis-cli's own REDISCLI_AUTH, so that the output can be shared.
func writeKeys(w io.Writer, keys []eventlog.KeyInfo, redisURL string) {
	cli, secret := redisCLI(redisURL)
	if secret {
		fmt.Fprintln(w, "# set REDISCLI_AUTH to the password first")
	}
	for _, key := range keys {
		fmt.Fprintf(w, "# %s\n%s %s\n", key.Shows(), cli, key.Command())
		if key.Key == "T:log" {
			fmt.Fprintf(w, "# frames 42 to 57, and the newest one\n%s XRANGE %s 42 57\n%s XREVRANGE %s + - COUNT 1\n",
				cli, shellQuote(key.Name), cli, shellQuote(key.Name))
		}
	}
}

// redisCLI is how redis-cli is called for a Redis, and whether it needs a password.
func redisCLI(redisURL string) (cli string, secret bool) {
	if redisURL == "" {
		return "redis-cli", false
	}
	secret = maskURL(redisURL) != redisURL
	if secret {
		redisURL = withoutPassword(redisURL)
	}
	return "redis-cli -u " + shellQuote(redisURL), secret
}

// shellQuote makes a word that a POSIX shell takes literally.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
