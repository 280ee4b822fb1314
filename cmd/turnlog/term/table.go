package term

import (
	"fmt"
	"strings"
)

// Column is one column of a table.
type Column struct {
	Title string
	Right bool // numbers are set to the right
	Min   int  // when there is no room its text may be cut to so many columns; 0 = never
	Rank  int  // when there is still no room, or no row has anything, it is left out, the highest first; 0 = never
}

// Cell is the text of one row in one column.
type Cell struct {
	Text  string
	Style Style
}

// Table is a table with a head. The zero value is not usable; see NewTable.
type Table struct {
	columns []Column
	rows    [][]Cell
}

// NewTable makes an empty table.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Row adds a row: one value per column, a Cell or anything that fmt can print.
func (t *Table) Row(values ...any) {
	row := make([]Cell, len(t.columns))
	for i := range row {
		switch v := values[i].(type) {
		case Cell:
			row[i] = v
		default:
			row[i].Text = fmt.Sprint(v)
		}
		row[i].Text = Text(row[i].Text)
	}
	t.rows = append(t.rows, row)
}

// gap is between two columns.
const gap = 2

// Write sets the table on a screen.
func (t *Table) Write(s *Screen) error {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		natural[i] = Width(c.Title)
		for _, row := range t.rows {
			natural[i] = max(natural[i], Width(row[i].Text))
		}
	}
	t.dropEmpty(natural)
	widths := fit(t.columns, natural, s.Width())
	var b strings.Builder
	head := make([]Cell, len(t.columns))
	for i, c := range t.columns {
		head[i] = Cell{c.Title, Bold}
	}
	t.line(&b, s, widths, head)
	for _, row := range t.rows {
		t.line(&b, s, widths, row)
	}
	var hidden []string
	for i, w := range widths {
		if w == 0 && natural[i] > 0 {
			hidden = append(hidden, t.columns[i].Title)
		}
	}
	if len(hidden) > 0 {
		for _, line := range Wrap("no room for "+strings.Join(hidden, ", ")+"; see --json", s.Width()) {
			b.WriteString(s.Paint(Dim, line) + "\n")
		}
	}
	_, err := s.Write([]byte(b.String()))
	return err
}

// dropEmpty leaves out columns in which no row has anything.
func (t *Table) dropEmpty(natural []int) {
	for i, c := range t.columns {
		empty := c.Rank > 0
		for _, row := range t.rows {
			empty = empty && row[i].Text == ""
		}
		if empty {
			natural[i] = 0
		}
	}
}

// line sets one row; a width of 0 leaves its column out.
func (t *Table) line(b *strings.Builder, s *Screen, widths []int, row []Cell) {
	pending := 0 // blanks that only count if something follows
	for i, cell := range row {
		w := widths[i]
		if w == 0 {
			continue
		}
		text := Cut(cell.Text, w)
		pad := w - Width(text)
		if t.columns[i].Right {
			pending += pad
			pad = 0
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", pending))
			b.WriteString(s.Paint(cell.Style, text))
			pending = 0
		}
		pending += pad + gap
	}
	b.WriteByte('\n')
}

// fit decides how wide each column becomes, 0 = it is left out. First the widest of the
// columns that may be cut give way, then columns go. Without room for the rest even
// so, lines become longer than the screen.
func fit(columns []Column, natural []int, screen int) []int {
	widths := append([]int(nil), natural...)
	if screen <= 0 {
		return widths
	}
	for {
		least, total := -gap, -gap
		for i, w := range widths {
			if w == 0 {
				continue
			}
			total += w + gap
			least += narrowest(columns[i], natural[i]) + gap
		}
		switch last := lastRank(columns, widths); {
		case total <= screen:
			return widths
		case least <= screen || last < 0:
			shrink(columns, widths, total-screen)
			return widths
		default:
			widths[last] = 0
		}
	}
}

func narrowest(c Column, natural int) int {
	if c.Min == 0 {
		return natural
	}
	return min(natural, max(c.Min, Width(c.Title)))
}

// lastRank is the column that is left out next, -1 = none.
func lastRank(columns []Column, widths []int) int {
	last := -1
	for i, c := range columns {
		if widths[i] > 0 && c.Rank > 0 && (last < 0 || c.Rank > columns[last].Rank) {
			last = i
		}
	}
	return last
}

// shrink takes columns away, always from the widest that may give.
func shrink(columns []Column, widths []int, excess int) {
	for range excess {
		widest := -1
		for i, c := range columns {
			if widths[i] > narrowest(c, widths[i]) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}
