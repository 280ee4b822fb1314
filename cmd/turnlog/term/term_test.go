package term_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"turnlog/cmd/turnlog/term"
)

func sample() *term.Table {
	t := term.NewTable(
		term.Column{Title: "THREAD", Min: 8},
		term.Column{Title: "STATUS"},
		term.Column{Title: "FRAMES", Right: true},
		term.Column{Title: "VERSION", Rank: 2},
		term.Column{Title: "TITLE", Min: 6, Rank: 1},
	)
	t.Row("a-rather-long-thread-id-0042", term.Cell{Text: "running", Style: term.Good}, 7, "v1.0", "groceries for the week")
	t.Row("日本語のスレッド", "failed", 12345, "v1.0", "")
	return t
}

func TestATableFitsTheTerminal(t *testing.T) {
	for _, row := range []struct {
		name  string
		width int
		want  string
	}{
		{"pipe", 0, `
THREAD                        STATUS   FRAMES  VERSION  TITLE
a-rather-long-thread-id-0042  running       7  v1.0     groceries for the week
日本語のスレッド              failed    12345  v1.0
`},
		{"the widest column gives way", 60, `
THREAD            STATUS   FRAMES  VERSION  TITLE
a-rather-long-t…  running       7  v1.0     groceries for t…
日本語のスレッド  failed    12345  v1.0
`},
		{"then columns go", 40, `
THREAD      STATUS   FRAMES  TITLE
a-rather-…  running       7  groceries …
日本語の…   failed    12345
no room for VERSION; see --json
`},
		{"and never the last ones", 10, `
THREAD    STATUS   FRAMES
a-rathe…  running       7
日本語…   failed    12345
no room
for
VERSION,
TITLE; see
--json
`},
	} {
		var out bytes.Buffer
		if err := sample().Write(term.Fixed(&out, row.width, false)); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + out.String(); got != row.want {
			t.Errorf("%s:%s", row.name, got)
		}
		for line := range strings.Lines(out.String()) {
			if w := term.Width(strings.TrimSuffix(line, "\n")); row.width > 30 && w > row.width {
				t.Errorf("%s: %d columns: %s", row.name, w, line)
			}
		}
	}
}

func TestColourOnlyWhereItIsSeen(t *testing.T) {
	none := func(string) string { return "" }
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, row := range []struct {
		name string
		when term.When
		want string
	}{{"a file", term.Auto, "x"}, {"asked for", term.Always, "\x1b[31mx\x1b[0m"}, {"never", term.Never, "x"}} {
		s := term.New(file, row.when, none)
		if got := s.Paint(term.Bad, "x"); got != row.want || s.Width() != 0 {
			t.Errorf("%s: %q, %d columns", row.name, got, s.Width())
		}
	}
	plain, coloured := bytes.Buffer{}, bytes.Buffer{}
	if err := sample().Write(term.Fixed(&plain, 60, false)); err != nil {
		t.Fatal(err)
	}
	if err := sample().Write(term.Fixed(&coloured, 60, true)); err != nil {
		t.Fatal(err)
	}
	bare := strings.NewReplacer("\x1b[1m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(coloured.String())
	if bare != plain.String() || bare == coloured.String() {
		t.Errorf("colour changes more than colour:\n%q\n%q", coloured.String(), plain.String())
	}
}

func TestTextOfOthersIsHarmless(t *testing.T) {
	for _, row := range []struct{ text, word, prose string }{
		{"thread-42", "thread-42", "thread-42"},
		{"two words", `"two words"`, "two words"},
		{"", `""`, ""},
		{"a\x1b[31m\nb", `"a\x1b[31m\nb"`, `a\x1b[31m\nb`},
		{"\xff\u202eü", `"\xff\u202eü"`, `\xff\u202eü`},
		{`C:\n "q"`, `"C:\\n \"q\""`, `C:\n "q"`},
	} {
		if got := term.Word(row.text); got != row.word {
			t.Errorf("word %q: %s, want %s", row.text, got, row.word)
		}
		if got := term.Text(row.text); got != row.prose {
			t.Errorf("text %q: %s, want %s", row.text, got, row.prose)
		}
	}
}

func TestCutsCountColumns(t *testing.T) {
	for _, row := range []struct {
		text string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"}, {"abcdef", 0, "abcdef"},
		{"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		got := term.Cut(row.text, row.n)
		if got != row.want || row.n > 0 && term.Width(got) > row.n {
			t.Errorf("%q in %d columns: %q (%d columns), want %q", row.text, row.n, got, term.Width(got), row.want)
		}
	}
}

func TestFactsWrapUnderTheirBeginning(t *testing.T) {
	var f term.Facts
	f.Add("status", term.Cell{Text: "running", Style: term.Good}, term.Cell{Text: "watched on one node"})
	f.Add("nothing", term.Cell{})
	f.Add("epoch", term.Cell{Text: "k3Jq"})
	var out bytes.Buffer
	if err := f.Write(term.Fixed(&out, 24, false)); err != nil {
		t.Fatal(err)
	}
	if want := "status  running watched\n        on one node\nepoch   k3Jq\n"; out.String() != want {
		t.Errorf("%s", out.String())
	}
}

func TestAColourFlag(t *testing.T) {
	w := term.Auto
	if err := w.Set("sometimes"); err == nil {
		t.Error("was accepted")
	}
	if err := w.Set("never"); err != nil || w != term.Never {
		t.Errorf("%v, %s", err, w)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本語 e\u0301 abc", 4)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n > 0 && term.Width(term.Cut(text, n)) > n {
			t.Errorf("%q is wider than %d", term.Cut(text, n), n)
		}
		if clean := term.Text(text); strings.ContainsAny(clean, "\x1b\n\r\x00\u009b") {
			t.Errorf("%q is not clean", clean)
		}
	})
}
