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

// keyMeaning says what each key of eventlog.DescribeKeys shows.
var keyMeaning = map[string]string{
	"T:state":                "the newest turn: status, outcome, owner, attempt, policy, deadlines, numbering",
	"T:log":                  "the frames; the id before the dash is chat_seq, turn is the turn's ordinal",
	"T:messages":             "persisted messages by chat_seq; outlive the log",
	"T:turns":                "turn ordinal -> turn_id",
	"T:requests":             "requests of the running turn that wait for an answer",
	"T:inputs":               "answers, stops and steers the running turn has been sent",
	"T:queue":                "submissions waiting to become turns",
	"T:viewers":              "nodes with viewers -> their generation",
	"T:live":                 "frames as they are published to other nodes (Ctrl-C ends)",
	"U:threads":              "threads of the user by last activity",
	"U:running":              "threads of the user that run a turn",
	"U:requests":             "open request id -> thread",
	"P:turns":                "running turns of the partition",
	"P:due":                  "threads by their nearest deadline (Unix milliseconds)",
	"P:ready":                "threads whose queue any node may claim",
	"P:dead":                 "nodes this partition knows to be dead",
	"turnlog:{nodes}:lease":  "nodes by the expiry of their lease (Unix milliseconds)",
	"turnlog:{nodes}:dead":   "nodes declared dead in the last 24 h",
	"turnlog:{nodes}:buried": "of these, nodes whose turns and viewers have all been dealt with",
	"turnlog:{nodes}:reaper": "who leads the reaper",
	"turnlog:{nodes}:format": "format version and number of partitions",
}

// keyCommand is the redis-cli command that shows a key of each type.
var keyCommand = map[string]string{
	"hash":    "HGETALL %s",
	"stream":  "XRANGE %s - + COUNT 50",
	"list":    "LRANGE %s 0 -1",
	"set":     "SMEMBERS %s",
	"zset":    "ZRANGE %s 0 -1 WITHSCORES",
	"string":  "GET %s",
	"channel": "SUBSCRIBE %s",
}

// writeKeys prints the commands. The password of a Redis URL is left to
// redis-cli's own REDISCLI_AUTH, so that the output can be shared.
func writeKeys(w io.Writer, keys []eventlog.KeyInfo, redisURL string) {
	cli := "redis-cli"
	if redisURL != "" {
		if masked := maskURL(redisURL); masked == redisURL {
			cli += " -u " + shellQuote(redisURL)
		} else {
			fmt.Fprintln(w, "# set REDISCLI_AUTH to the password first")
			cli += " -u " + shellQuote(withoutPassword(redisURL))
		}
	}
	for _, key := range keys {
		fmt.Fprintf(w, "# %s\n%s "+keyCommand[key.Type]+"\n", keyMeaning[key.Key], cli, shellQuote(key.Name))
		if key.Key == "T:log" {
			fmt.Fprintf(w, "# frames 42 to 57, and the newest one\n%s XRANGE %s 42 57\n%s XREVRANGE %s + - COUNT 1\n",
				cli, shellQuote(key.Name), cli, shellQuote(key.Name))
		}
	}
}

// shellQuote makes a word that a POSIX shell takes literally.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
