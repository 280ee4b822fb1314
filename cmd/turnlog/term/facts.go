package term

import "strings"

// Facts are lines of a label and what there is to say, one under the other.
type Facts struct {
	labels []string
	values [][]Cell
}

// Add adds a line. Cells follow each other with a blank between; empty ones are left
// out, and so is a line that has nothing but those.
func (f *Facts) Add(label string, cells ...Cell) {
	var said []Cell
	for _, c := range cells {
		if c.Text != "" {
			said = append(said, Cell{Text(c.Text), c.Style})
		}
	}
	if len(said) > 0 {
		f.labels, f.values = append(f.labels, label), append(f.values, said)
	}
}

// Write sets the facts on a screen. Long values go on in the next line, under their
// beginning.
func (f *Facts) Write(s *Screen) error {
	indent := 0
	for _, label := range f.labels {
		indent = max(indent, Width(label)+gap)
	}
	var b strings.Builder
	for i, label := range f.labels {
		b.WriteString(s.Paint(Dim, label) + strings.Repeat(" ", indent-Width(label)))
		used := indent
		for n, c := range f.values[i] {
			for m, word := range strings.Fields(c.Text) {
				first := n == 0 && m == 0
				if w := Width(word); !first && s.Width() > 0 && used+1+w > s.Width() {
					b.WriteString("\n" + strings.Repeat(" ", indent))
					used = indent
				} else if !first {
					b.WriteByte(' ')
					used++
				}
				b.WriteString(s.Paint(c.Style, word))
				used += Width(word)
			}
		}
		b.WriteByte('\n')
	}
	_, err := s.Write([]byte(b.String()))
	return err
}
