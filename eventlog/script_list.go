package eventlog

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
)

// ScriptInfo is one script as tools see it.
type ScriptInfo struct {
	Name     string
	SHA      string   // by which Redis knows it
	Commands []string // what it calls, in upper case, each once
}

// luaCall finds the commands in a script.
var luaCall = regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)

// Scripts lists all scripts by name. A Redis that has not run one since it started does
// not have it; it gets the source with the first call.
func Scripts() []ScriptInfo {
	out := make([]ScriptInfo, len(allScripts))
	for i, s := range allScripts {
		commands := map[string]struct{}{}
		for _, found := range luaCall.FindAllStringSubmatch(s.source, -1) {
			commands[found[1]] = struct{}{}
		}
		out[i] = ScriptInfo{Name: s.name, SHA: s.sha, Commands: slices.Sorted(maps.Keys(commands))}
	}
	slices.SortFunc(out, func(a, b ScriptInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
