package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"turnlog/eventlog"
	"turnlog/session"
)

// kindsKey is the one setting that is a list; it can only stand in the file.
const kindsKey = "kinds"

// KindRule gives new threads a kind and the kind's policy. Every condition
// that it has must hold; the first rule that fits counts.
type KindRule struct {
	Kind          string
	Policy        eventlog.Policy // PolicyUnset = the kind asks for nothing
	ThreadPattern string          // glob over the whole thread id, or ^regexp$
	ClientID      string          // what the client says it is (?client=)

	thread *regexp.Regexp
}

// kindFields are the keys of one rule in the file.
var kindFields = []string{"kind", "policy", "thread_pattern", "client_id"}

// parseKinds reads the list as the file's parser left it. Errors name the rule and the field.
func parseKinds(value any) ([]KindRule, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: wants a list of rules, each with kind, policy, and thread_pattern or client_id", kindsKey)
	}
	rules := make([]KindRule, 0, len(list))
	for i, item := range list {
		rule, err := parseKind(item)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]%w", kindsKey, i, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// parseKind reads one rule; its errors begin where the rule's name ends.
func parseKind(item any) (KindRule, error) {
	var rule KindRule
	fields, ok := item.(map[string]any)
	if !ok {
		return rule, errors.New(": wants kind, policy, and thread_pattern or client_id")
	}
	texts := make(map[string]string, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(kindFields, name) {
			return rule, fmt.Errorf(": unknown field %q%s", name, suggestion(name, kindFields))
		}
		text, err := fileText(fields[name])
		if err != nil {
			return rule, fmt.Errorf(".%s: %w", name, err)
		}
		texts[name] = text
	}
	rule = KindRule{Kind: texts["kind"], Policy: eventlog.Policy(texts["policy"]), ThreadPattern: texts["thread_pattern"], ClientID: texts["client_id"]}
	return rule, rule.check()
}

func (r *KindRule) check() error {
	switch r.Policy {
	case eventlog.PolicyUnset, eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve:
	default:
		return fmt.Errorf(".policy: %q is not possible; use cancel, grace or preserve", r.Policy)
	}
	switch {
	case r.Kind == "":
		return errors.New(".kind: is missing; give the kind a name")
	case r.ThreadPattern == "" && r.ClientID == "":
		return errors.New(": would fit every thread; give it a thread_pattern or a client_id, or set disconnect.policy")
	}
	var err error
	if r.thread, err = threadPattern(r.ThreadPattern); err != nil {
		return fmt.Errorf(".thread_pattern: %w", err)
	}
	return nil
}

// threadPattern compiles ^regexp$, or a glob in which * stands for any text and
// ? for one character. Both must fit the whole id; nil fits everything.
func threadPattern(pattern string) (*regexp.Regexp, error) {
	switch {
	case pattern == "":
		return nil, nil
	case strings.HasPrefix(pattern, "^"):
		if !strings.HasSuffix(pattern, "$") {
			return nil, fmt.Errorf("%q begins like a regular expression; end it with $, so that it fits whole ids", pattern)
		}
		// The group keeps alternatives within the anchors: ^a|b$ fits a and b only.
		re, err := regexp.Compile("^(?:" + strings.TrimSuffix(pattern[1:], "$") + ")$")
		if err != nil {
			return nil, fmt.Errorf("%q is not a regular expression: %w", pattern, err)
		}
		return re, nil
	}
	glob := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.Compile("(?s)^" + glob + "$")
}

// fits tells whether the rule is for a thread that this submission creates.
func (r *KindRule) fits(s session.Submit) bool {
	return (r.ClientID == "" || r.ClientID == s.Client) && (r.thread == nil || r.thread.MatchString(s.Thread.ID))
}

// kindOf makes session.Options.Kind of the rules; nil without any.
func kindOf(rules []KindRule) func(session.Submit) (string, eventlog.Policy) {
	if len(rules) == 0 {
		return nil
	}
	return func(s session.Submit) (string, eventlog.Policy) {
		for i := range rules {
			if rules[i].fits(s) {
				return rules[i].Kind, rules[i].Policy
			}
		}
		return "", eventlog.PolicyUnset
	}
}

// kindPolicyOf makes httpapi.APIOptions.KindPolicy of the rules: a kind that a client
// names has the policy of the first rule of that kind.
func kindPolicyOf(rules []KindRule) func(kind string) eventlog.Policy {
	return func(kind string) eventlog.Policy {
		for i := range rules {
			if rules[i].Kind == kind {
				return rules[i].Policy
			}
		}
		return eventlog.PolicyUnset
	}
}

// kindsText prints the rules on one line each, as turnlog config shows them.
func kindsText(rules []KindRule) string {
	var lines []string
	for _, r := range rules {
		line := r.Kind
		for _, part := range []struct{ name, text string }{{"policy", string(r.Policy)}, {"thread_pattern", r.ThreadPattern}, {"client_id", r.ClientID}} {
			if part.text != "" {
				line += " " + part.name + "=" + part.text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}
