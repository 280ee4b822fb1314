package eventlog

// ScriptName names the script of a digest, "" for an unknown one.
func ScriptName(sha string) string {
	for _, s := range allScripts {
		if s.sha == sha {
			return s.name
		}
	}
	return ""
}

// ScriptNames lists every script.
func ScriptNames() []string {
	var out []string
	for _, s := range allScripts {
		out = append(out, s.name)
	}
	return out
}
