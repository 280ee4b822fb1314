package openai

// Joined runs string literals through a joiner.
func Joined(literals ...string) string {
	var j joiner
	var out string
	for _, l := range literals {
		out += j.add(l)
	}
	return out + j.end()
}
