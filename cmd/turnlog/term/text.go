package term

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// ellipsis stands for what was cut; it takes one column.
const ellipsis = "…"

// Width is how many columns a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300: // the common case: nothing below is wide or combining
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens a text to at most n columns, with an ellipsis for what is missing.
// n <= 0 does not cut.
func Cut(text string, n int) string {
	if n <= 0 || Width(text) <= n {
		return text
	}
	used := 0
	for at, r := range text {
		w := runeWidth(r)
		if used+w > n-1 {
			return text[:at] + ellipsis
		}
		used += w
	}
	return text
}

// Word is an id for a table: as it is, or quoted when it has blanks or anything in it
// that does not print.
func Word(text string) string {
	if quoted := strconv.Quote(text); text == "" || quoted[1:len(quoted)-1] != text || strings.Contains(text, " ") {
		return quoted
	}
	return text
}

// Text is one line of prose: what does not print is written as an escape, like \n.
func Text(text string) string {
	clean := true
	for _, r := range text {
		clean = clean && unicode.IsPrint(r) && r != utf8.RuneError
	}
	if clean {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if piece := text[at : at+size]; unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(piece)
		} else {
			quoted := strconv.Quote(piece)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		at += size
	}
	return b.String()
}

// Wrap breaks a text at its blanks into lines of at most n columns; n <= 0 gives one
// line. A word that is longer stays whole.
func Wrap(text string, n int) []string {
	if n <= 0 || Width(text) <= n {
		return []string{text}
	}
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		w := Width(word)
		if line != "" && used+1+w > n {
			lines, line, used = append(lines, line), "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+w
	}
	return append(lines, line)
}
