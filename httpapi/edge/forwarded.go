package edge

import "strings"

// forwardedFor returns the for= of each element of Forwarded headers (RFC 7239), ""
// for elements without one. From the first element that is not well formed on,
// nothing on its left can be trusted to be what it seems, so it counts as unknown.
func forwardedFor(lines []string) []string {
	rest := strings.Join(lines, ",")
	var hops []string
	for {
		node, after, more, ok := forwardedElement(rest)
		if !ok {
			return append(hops[:0], "") // quotes may span elements: nothing is certain
		}
		hops = append(hops, node)
		if !more {
			return hops
		}
		rest = after
	}
}

// forwardedElement reads one element up to its comma.
func forwardedElement(text string) (node, rest string, more, ok bool) {
	for {
		text = strings.TrimLeft(text, " \t")
		name, value, found := strings.Cut(text, "=")
		if end := strings.IndexAny(text, ",;"); !found || end >= 0 && end < len(name) {
			// An empty element or pair; lists may have them.
			if end < 0 {
				return node, "", false, strings.TrimSpace(text) == ""
			}
			if strings.TrimSpace(text[:end]) != "" {
				return "", "", false, false
			}
			if text[end] == ',' {
				return node, text[end+1:], true, true
			}
			text = text[end+1:]
			continue
		}
		word, after, good := forwardedValue(value)
		if !good {
			return "", "", false, false
		}
		if strings.EqualFold(name, "for") {
			if node != "" {
				return "", "", false, false // twice in one element
			}
			node = word
		}
		after = strings.TrimLeft(after, " \t")
		switch {
		case after == "":
			return node, "", false, true
		case after[0] == ',':
			return node, after[1:], true, true
		case after[0] == ';':
			text = after[1:]
		default:
			return "", "", false, false
		}
	}
}

// forwardedValue reads a token or a quoted string.
func forwardedValue(text string) (word, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ",; \t\"")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}
