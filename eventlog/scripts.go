package eventlog

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is one Lua script, its shared functions put in front.
type script struct {
	name   string
	source string
	sha    string
}

// allScripts is filled while the package is initialised and read-only after that.
var allScripts []*script

// loadScript reads lua/<name>.lua and resolves its "-- use: a b" line: the
// named lib_*.lua files, and those they use themselves, come first, each once.
// It panics on a missing file: that is a mistake in this package.
func loadScript(name string) *script {
	var b strings.Builder
	seen := map[string]bool{}
	var add func(file string)
	add = func(file string) {
		if seen[file] {
			return
		}
		seen[file] = true
		src, err := luaFiles.ReadFile("lua/" + file + ".lua")
		if err != nil {
			panic(fmt.Sprintf("eventlog: script %s: %v", name, err))
		}
		for line := range strings.Lines(string(src)) {
			if libs, ok := strings.CutPrefix(strings.TrimSpace(line), "-- use:"); ok {
				for _, lib := range strings.Fields(libs) {
					add("lib_" + lib)
				}
			}
		}
		b.WriteString(stripComments(string(src)))
	}
	add(name)
	sum := sha1.Sum([]byte(b.String()))
	s := &script{name: name, source: b.String(), sha: hex.EncodeToString(sum[:])}
	allScripts = append(allScripts, s)
	return s
}

// stripComments drops comment lines and indentation: the source travels
// whenever Redis has lost it.
func stripComments(src string) string {
	var b strings.Builder
	for line := range strings.Lines(src) {
		t := strings.TrimSpace(line)
		if t == "" || strings.HasPrefix(t, "--") {
			continue
		}
		b.WriteString(t)
		b.WriteByte('\n')
	}
	return b.String()
}

// run calls a script, with its source when Redis does not have it. It blocks
// at most for the command timeout. Every script may safely be sent twice.
func (l *Log) run(ctx context.Context, s *script, key string, args ...any) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	keys := []string{key}
	res, err := l.rdb.EvalSha(ctx, s.sha, keys, args...).Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		res, err = l.rdb.Eval(ctx, s.source, keys, args...).Result()
	}
	if err != nil {
		return nil, l.mapError(ctx, s.name, err)
	}
	list, ok := res.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: unexpected reply %T", s.name, res)
	}
	return reply(list), nil
}
