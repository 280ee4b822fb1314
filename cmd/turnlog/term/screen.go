package term

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// When says when output is coloured.
type When string

// The values of a --color flag. Auto: on a terminal, unless NO_COLOR is set or TERM is dumb.
const (
	Auto   When = "auto"
	Always When = "always"
	Never  When = "never"
)

// Choices are all values of When.
var Choices = []string{string(Auto), string(Always), string(Never)}

// Set implements pflag.Value.
func (w *When) Set(text string) error {
	switch When(text) {
	case Auto, Always, Never:
		*w = When(text)
		return nil
	}
	return fmt.Errorf("%q is none of auto, always, never", text)
}

// String implements pflag.Value.
func (w *When) String() string { return string(*w) }

// Type implements pflag.Value.
func (w *When) Type() string { return "when" }

// Style is how a piece of text looks.
type Style int

// The styles. Colours carry no meaning that the text does not.
const (
	Plain Style = iota
	Bold
	Dim
	Good
	Warn
	Bad
	Mark
)

var codes = map[Style]string{Bold: "1", Dim: "2", Good: "32", Warn: "33", Bad: "31", Mark: "36"}

// Screen is where a command writes for people.
type Screen struct {
	io.Writer
	colour bool
	size   func() int
}

// New makes a screen of a command's output. The environment is read through getenv.
func New(out io.Writer, when When, getenv func(string) string) *Screen {
	s := &Screen{Writer: out, size: func() int { return 0 }}
	file, ok := out.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd()))
	if terminal {
		s.size = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return width
		}
	}
	switch when {
	case Always:
		s.colour = true
	case Never:
	default:
		s.colour = terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	return s
}

// Fixed makes a screen of a given width, in columns; 0 = no bound.
func Fixed(out io.Writer, width int, colour bool) *Screen {
	return &Screen{Writer: out, colour: colour, size: func() int { return width }}
}

// Width is the screen's width in columns at this moment, 0 = no bound.
func (s *Screen) Width() int { return s.size() }

// Paint gives text a style; it comes back as it is where there is no colour.
func (s *Screen) Paint(style Style, text string) string {
	code := codes[style]
	if !s.colour || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
