package main

import (
	"fmt"
	"strings"

	"turnlog/cmd/turnlog/doctor"
	"turnlog/cmd/turnlog/term"
)

var statusStyles = map[doctor.Status]term.Style{doctor.OK: term.Good, doctor.Warn: term.Warn, doctor.Fail: term.Bad}

// Columns of a diagnosis: the status, the check, and what there is to say.
const (
	statusWidth = 6
	checkWidth  = 13
)

// write shows each check with what was found; below those that are not well, and with
// explain below all, why it matters and what to do.
func (d diagnosis) write(s *term.Screen, explain bool) error {
	indent := statusWidth + checkWidth
	fmt.Fprintf(s, "%s%s\n", s.Paint(term.Bold, pad("redis", indent)), d.Redis)
	counts := map[doctor.Status]int{}
	for _, c := range d.Checks {
		counts[c.Status]++
		lead := s.Paint(statusStyles[c.Status], string(c.Status)) + strings.Repeat(" ", statusWidth-len(c.Status)) + pad(c.Name, checkWidth)
		paragraph(s, indent, lead, term.Plain, term.Text(c.Found))
		if c.Status == doctor.OK && !explain {
			continue
		}
		paragraph(s, indent, strings.Repeat(" ", indent), term.Dim, c.Means)
		if c.Do != "" {
			paragraph(s, indent, strings.Repeat(" ", indent), term.Bold, c.Do)
		}
	}
	_, err := fmt.Fprintf(s, "%d ok, %d warn, %d fail\n", counts[doctor.OK], counts[doctor.Warn], counts[doctor.Fail])
	return err
}

// paragraph writes text behind a lead that takes indent columns.
func paragraph(s *term.Screen, indent int, lead string, style term.Style, text string) {
	room := 0
	if w := s.Width(); w > 0 {
		room = max(w-indent, 20)
	}
	for _, line := range term.Wrap(text, room) {
		fmt.Fprintln(s, lead+s.Paint(style, line))
		lead = strings.Repeat(" ", indent)
	}
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-term.Width(text), 1))
}
