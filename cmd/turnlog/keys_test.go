package main

import (
	"strings"
	"testing"

	"turnlog/eventlog"
)

func TestKeysPrintsACommandPerKey(t *testing.T) {
	out, err := runCommand(t, "keys", "al{i}ce's", "t:1", "--redis", "redis://:hunter2@127.0.0.1:6379/2")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "hunter2") {
		t.Error("a password was printed")
	}
	for _, want := range []string{"redis-cli -u 'redis://127.0.0.1:6379/2' XRANGE 'turnlog:{", "al%7Bi%7Dce%27s/t%3A1:log' 42 57", ":state'", "GET 'turnlog:{nodes}:format'"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	keys, err := eventlog.DescribeKeys(eventlog.Thread{User: "u", ID: "t"}, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key.Shows() == "" || key.Command() == "" {
			t.Errorf("%s (%s) has no explanation or no command", key.Key, key.Type)
		}
	}
}

func TestB103_KeysRefusesImpossibleIDs(t *testing.T) {
	for _, args := range [][]string{{"keys", "u"}, {"keys", "", "t"}, {"keys", "u", strings.Repeat("x", 10_000)}, {"keys", "u", "\xff"}} {
		if out, err := runCommand(t, args...); err == nil {
			t.Errorf("%.40q was accepted:\n%s", args, out)
		}
	}
}
