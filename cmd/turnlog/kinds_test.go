package main

import (
	"strings"
	"testing"

	"turnlog/eventlog"
	"turnlog/session"
)

const someKinds = `
kinds:
  - {kind: scratch, policy: cancel, thread_pattern: "tmp-?", client_id: web}
  - {kind: research, policy: preserve, thread_pattern: "research/*"}
  - {kind: nightly, policy: preserve, thread_pattern: "^night|batch-[0-9]+$"}
  - {kind: phone, client_id: mobile-app}
`

func TestB26_RulesGiveKindsByThreadAndClient(t *testing.T) {
	config, err := loadWith(t, []string{"--config", configFile(t, "turnlog.yaml", someKinds)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kind := kindOf(config.Kinds)
	rows := []struct {
		name, thread, client, kind string
		policy                     eventlog.Policy
	}{
		{"both conditions", "tmp-1", "web", "scratch", "cancel"},
		{"one of two is not enough", "tmp-1", "cli", "", ""},
		{"? is one character", "tmp-12", "web", "", ""},
		{"glob over slashes", "research/a/b", "", "research", "preserve"},
		{"a glob fits the whole id", "my research/a", "", "", ""},
		{"a dot is no wildcard and case counts", "Research/a", "", "", ""},
		{"first alternative, anchored", "night", "", "nightly", "preserve"},
		{"second alternative, anchored", "batch-7", "", "nightly", "preserve"},
		{"beyond the anchors", "nightmare", "", "", ""},
		{"kind without a policy", "t1", "mobile-app", "phone", ""},
		{"the first rule counts", "research/x", "mobile-app", "research", "preserve"},
	}
	for _, row := range rows {
		got, policy := kind(session.Submit{Thread: eventlog.Thread{User: "1", ID: row.thread}, Client: row.client})
		if got != row.kind || policy != row.policy {
			t.Errorf("%s: %q %q, want %q %q", row.name, got, policy, row.kind, row.policy)
		}
	}
	named := kindPolicyOf(config.Kinds)
	for kind, policy := range map[string]eventlog.Policy{"scratch": "cancel", "nightly": "preserve", "phone": "", "another": ""} {
		if got := named(kind); got != policy {
			t.Errorf("a client names %s: %q, want %q", kind, got, policy)
		}
	}
	if kindOf(nil) != nil {
		t.Error("no rules cost a call")
	}
}

func TestKindErrorsNameTheRuleAndItsField(t *testing.T) {
	rows := []struct {
		name, file string
		want       []string
	}{
		{"no list", "kinds: research", []string{"kinds:", "list"}},
		{"a table", "kinds: {kind: x}", []string{"unknown setting", "kinds.kind"}},
		{"no table", "kinds: [x]", []string{"kinds[0]:", "thread_pattern"}},
		{"no kind", "kinds: [{policy: grace, client_id: a}]", []string{"kinds[0].kind", "missing"}},
		{"no condition", "kinds: [{kind: a, client_id: a}, {kind: b}]", []string{"kinds[1]:", "every thread"}},
		{"policy", "kinds: [{kind: a, client_id: a, policy: keep}]", []string{"kinds[0].policy", `"keep"`, "preserve"}},
		{"misspelt field", "kinds: [{kind: a, thread_patern: a}]", []string{"kinds[0]:", "thread_patern", "did you mean thread_pattern?"}},
		{"field that is not there yet", "kinds: [{kind: a, claim: admin}]", []string{"kinds[0]:", `"claim"`}},
		{"list in a field", "kinds: [{kind: a, client_id: [a]}]", []string{"kinds[0].client_id", "not a list"}},
		{"regular expression", `kinds: [{kind: a, thread_pattern: "^(a$"}]`, []string{"kinds[0].thread_pattern", "regular expression"}},
		{"half an anchor", `kinds: [{kind: a, thread_pattern: "^a"}]`, []string{"kinds[0].thread_pattern", "end it with $"}},
		{"misspelt list", "kind: [{kind: a}]", []string{"unknown setting", "did you mean kinds?"}},
	}
	for _, row := range rows {
		_, err := loadWith(t, []string{"--config", configFile(t, "turnlog.yaml", row.file)}, nil)
		if err == nil {
			t.Errorf("%s: was accepted", row.name)
			continue
		}
		for _, want := range append(row.want, "turnlog.yaml") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not mention %q", row.name, err, want)
			}
		}
	}
}

func TestConfigPrintsKinds(t *testing.T) {
	config, err := loadWith(t, []string{"--config", configFile(t, "turnlog.yaml", someKinds)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var out strings.Builder
		if err := writeConfig(&out, config, asJSON); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "research policy=preserve thread_pattern=research/*") {
			t.Errorf("json %v: %s", asJSON, out.String())
		}
	}
}

// B26, on a running node: clients that send nothing are covered, and only they are.
func TestB26_KindProtectsClientsThatSendNothing(t *testing.T) {
	n := startNode(t, "--config", configFile(t, "turnlog.yaml", someKinds))
	started := func(query, thread, data string) any {
		t.Helper()
		c := n.dialAs(query)
		c.send(`{"command":"chat_message","data":{"thread_id":"` + thread + `","content":"x","demo":{"frames":1}` + data + `}}`)
		seen := c.until("an answer", func(m map[string]any) bool { return m["type"] == "turn_started" || m["error"] != nil })
		last := seen[len(seen)-1]
		if last["error"] != nil {
			return last["error"]
		}
		return last["on_disconnect"]
	}
	for _, row := range []struct {
		query, thread, data string
		want                any
	}{
		{"", "research/1", "", "preserve"},
		{"", "research/2", `,"close_on_disconnect":true`, "policy_conflict"},
		{"?client=web", "tmp-1", "", "cancel"},
		{"?client=cli", "tmp-2", "", "grace"},
		{"?client=web", "tmp-2", "", "grace"}, // created without the kind: it stays so
		{"?client=web", "research", "", "grace"},
	} {
		if got := started(row.query, row.thread, row.data); got != row.want {
			t.Errorf("%s %s%s: %v, want %v", row.query, row.thread, row.data, got, row.want)
		}
	}
}
