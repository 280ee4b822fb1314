package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// loaded is the effective configuration and where each value came from.
type loaded struct {
	Config
	source   map[string]string // setting key -> "default", "flag --x", "environment X", "file F"
	warnings []string          // one per unknown environment variable
}

// textValue is a flag that keeps its text but refuses what its setting cannot
// read, so that a typing error is told by the flag it was made in.
type textValue struct {
	setting setting
	text    string
}

func (v *textValue) String() string { return v.text }

func (v *textValue) Type() string { return v.setting.kind() }

func (v *textValue) Set(text string) error {
	if v.setting.unflagged {
		return nil // load refuses it, in an error that does not repeat it
	}
	v.text = text
	return v.setting.assign(&Config{}, text)
}

// addSettingFlags registers one flag per setting, --config, and the short
// spelling --redis.
func addSettingFlags(flags *pflag.FlagSet) { addFlagsOf(flags, settings) }

// addRedisFlags is addSettingFlags for commands that only need to reach Redis.
func addRedisFlags(flags *pflag.FlagSet) {
	addFlagsOf(flags, slices.DeleteFunc(slices.Clone(settings), func(s setting) bool {
		return s.key != "redis.url" && s.key != "redis.command_timeout"
	}))
}

func addFlagsOf(flags *pflag.FlagSet, table []setting) {
	flags.SortFlags = false
	flags.String("config", "", "configuration file (YAML, TOML or JSON)")
	for _, s := range table {
		usage := s.help + " (" + s.unit + ")"
		flag := flags.VarPF(&textValue{setting: s, text: s.preset}, s.key, "", usage)
		flag.Hidden = s.unflagged
		if s.kind() == "bool" {
			flag.NoOptDefVal = "true"
		}
		if s.key == "redis.url" {
			flags.VarPF(&textValue{setting: s, text: s.preset}, "redis", "", "short for --redis.url")
		}
	}
}

// load reads flags, environment and file, in this order of precedence, into
// one validated Config. Its errors are sentences that name the setting and
// where the value came from.
func load(flags *pflag.FlagSet, environ []string) (*loaded, error) {
	result := &loaded{source: make(map[string]string, len(settings))}
	env := turnlogVariables(environ)

	path, pathSource := env[envPrefix+"CONFIG"], envPrefix+"CONFIG"
	if flag := flags.Lookup("config"); flag != nil && flag.Changed {
		path, pathSource = flag.Value.String(), "--config"
	}
	file := viper.New()
	if path != "" {
		if err := readFile(file, path); err != nil {
			return nil, fmt.Errorf("%s: %w", pathSource, err)
		}
	}

	for _, s := range settings {
		text, source := s.preset, "default"
		if file.InConfig(s.key) {
			scalar, err := s.fileText(file.Get(s.key))
			if err != nil {
				return nil, fmt.Errorf("%s (file %s): %w", s.key, path, err)
			}
			text, source = scalar, "file "+path
		}
		if value, set := env[s.env()]; set {
			text, source = value, "environment "+s.env()
		}
		value, name, err := changedFlag(flags, s)
		if err != nil {
			return nil, err
		}
		if name != "" {
			text, source = value, "flag --"+name
		}
		if err := s.assign(&result.Config, text); err != nil {
			if source == "default" {
				return nil, err
			}
			return nil, fmt.Errorf("%w (%s)", err, source)
		}
		result.source[s.key] = source
	}
	if file.InConfig(kindsKey) {
		rules, err := parseKinds(file.Get(kindsKey))
		if err != nil {
			return nil, fmt.Errorf("%w (file %s)", err, path)
		}
		result.Kinds, result.source[kindsKey] = rules, "file "+path
	}
	if result.source["drain.close_spread"] == "default" {
		result.Drain.CloseSpread = max(0, min(result.Drain.CloseSpread, result.Drain.Timeout))
	}
	if file.InConfig(agentsKey) {
		specs, err := parseAgents(file.Get(agentsKey))
		if err != nil {
			return nil, fmt.Errorf("%w (file %s)", err, path)
		}
		result.Agents, result.source[agentsKey] = specs, "file "+path
		if len(specs) > 0 && result.source["agent"] == "default" {
			result.Agent.Name, result.source["agent"] = specs[0].Name, "first of "+agentsKey
		}
	}
	result.warnings = append(unknownVariables(env, result.Agents), append(result.idleSettings(), result.authWarnings()...)...)
	return result, nil
}

// idleSettings warns of settings that do nothing, or nothing good, beside others.
func (l *loaded) idleSettings() []string {
	var warnings []string
	if source := l.source["agent.stdin"]; source != "default" && l.Agent.Name != agentCommand {
		warnings = append(warnings, fmt.Sprintf("agent.stdin (%s) is for programs and has no effect on agent %s; add --agent command -- PROGRAM, or remove it", source, l.Agent.Name))
	}
	if l.Turn.OnOwnerLost == ownerLostRestart && l.Agent.Name == agentCommand && l.Agent.Stdin == stdinText {
		warnings = append(warnings, "turn.on_owner_lost restart: a program with agent.stdin text is not told what was said before its node died and says it again; "+
			"use turn.on_owner_lost fail, or agent.stdin json and a program that goes on from what was emitted")
	}
	return warnings
}

// changedFlag finds the setting's flag, or its short spelling; name is empty
// when none was given. Both with different values are an error.
func changedFlag(flags *pflag.FlagSet, s setting) (text, name string, err error) {
	names := []string{s.key}
	if s.key == "redis.url" {
		names = append(names, "redis")
	}
	for _, candidate := range names {
		flag := flags.Lookup(candidate)
		switch {
		case flag == nil || !flag.Changed:
		case s.unflagged:
			return "", "", fmt.Errorf("%s: everybody on this machine can read a command line; use the variable %s or the configuration file", s.key, s.env())
		case name == "":
			text, name = flag.Value.String(), candidate
		case flag.Value.String() != text:
			return "", "", fmt.Errorf("%s: --%s and --%s say different things; give one of them", s.key, name, candidate)
		}
	}
	return text, name, nil
}

// readFile parses the configuration file and refuses keys it does not know.
func readFile(file *viper.Viper, path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".toml", ".json":
	default:
		return fmt.Errorf("%s: the name of a configuration file ends in .yaml, .yml, .toml or .json", path)
	}
	file.SetConfigFile(path)
	if err := file.ReadInConfig(); err != nil {
		var pathError *fs.PathError
		if errors.As(err, &pathError) {
			return fmt.Errorf("cannot read %s: %w", path, pathError.Err)
		}
		return fmt.Errorf("%s is not readable as configuration: %w", path, err)
	}
	if err := refuseTwice(path); err != nil {
		return err
	}
	keys := file.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if key != kindsKey && key != agentsKey && !slices.ContainsFunc(settings, func(s setting) bool { return s.key == key }) {
			return fmt.Errorf("%s: unknown setting %q%s", path, key, suggestion(key, append(settingKeys(), kindsKey, agentsKey)))
		}
	}
	return nil
}

// refuseTwice refuses a file that has a setting both nested and with dots,
// because only one of them would count.
func refuseTwice(path string) error {
	const delimiter = "\x00"
	file := viper.NewWithOptions(viper.KeyDelimiter(delimiter))
	file.SetConfigFile(path)
	if err := file.ReadInConfig(); err != nil {
		return fmt.Errorf("%s is not readable as configuration: %w", path, err)
	}
	seen := make(map[string]string)
	keys := file.AllKeys()
	slices.Sort(keys)
	for _, spelled := range keys {
		key := strings.ReplaceAll(spelled, delimiter, ".")
		if _, twice := seen[key]; twice {
			return fmt.Errorf("%s: %s is there twice, as %s and as %s; remove one", path, key, quoteKey(seen[key], delimiter), quoteKey(spelled, delimiter))
		}
		seen[key] = spelled
	}
	return nil
}

// quoteKey shows how a key is spelled in the file.
func quoteKey(spelled, delimiter string) string {
	parts := strings.Split(spelled, delimiter)
	if len(parts) == 1 {
		return fmt.Sprintf("the dotted key %q", spelled)
	}
	return fmt.Sprintf("%q under %q", parts[len(parts)-1], strings.Join(parts[:len(parts)-1], "."))
}

// fileText turns what the file says into text. Only settings that are lists may be
// written as lists there.
func (s setting) fileText(value any) (string, error) {
	items, isList := value.([]any)
	if !isList || s.kind() != "list" {
		return fileText(value)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		var err error
		if texts[i], err = fileText(item); err != nil {
			return "", err
		}
	}
	return strings.Join(texts, ", "), nil
}

// fileText turns a scalar of the file into text; lists, tables and empty
// values are refused.
func fileText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(v), nil
	case nil:
		return "", errors.New("has no value; write one or remove the line")
	default:
		return "", errors.New("wants one value, not a list or a table")
	}
}

// turnlogVariables picks the product's variables out of the environment.
func turnlogVariables(environ []string) map[string]string {
	found := make(map[string]string)
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, envPrefix) {
			found[name] = value
		}
	}
	return found
}

// otherVariables are the product's variables that are no settings: the file's
// name, chat's token, and what programs of the command agent are told.
var otherVariables = []string{
	envPrefix + "CONFIG", envPrefix + "TOKEN",
	envPrefix + "THREAD_ID", envPrefix + "TURN_ID", envPrefix + "ATTEMPT", envPrefix + "USER",
}

// unknownVariables makes a warning for each variable that names no setting.
func unknownVariables(env map[string]string, agents []AgentSpec) []string {
	known := slices.Clone(otherVariables)
	for _, a := range agents {
		known = append(known, a.APIKeyEnv, a.SecretEnv, a.BearerEnv)
	}
	for _, s := range settings {
		known = append(known, s.env())
	}
	var warnings []string
	for name := range env {
		if !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("environment variable %s is not a setting and has no effect%s", name, suggestionAfter(envPrefix, name, known)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// settingKeys lists the names of all settings.
func settingKeys() []string {
	keys := make([]string, len(settings))
	for i, s := range settings {
		keys[i] = s.key
	}
	return keys
}

// loadCommand is load for a command line, with the process environment.
func loadCommand(flags *pflag.FlagSet) (*loaded, error) { return load(flags, os.Environ()) }
