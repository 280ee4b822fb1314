package main

// suggestion names the known word nearest to a mistyped one, as the tail of an
// error sentence; it is empty when nothing comes near: about one slip in four letters.
func suggestion(word string, known []string) string { return suggestionAfter("", word, known) }

// suggestionAfter is suggestion for words that all begin with a prefix, which
// nobody mistypes and which must not make strangers look alike.
func suggestionAfter(prefix, word string, known []string) string {
	best, bestDistance := "", (len(word)-len(prefix)+2)/4+1
	for _, candidate := range known {
		if d := editDistance(word, candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// editDistance is how many bytes were mistyped: left out, added, replaced, or
// swapped with their neighbour.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
