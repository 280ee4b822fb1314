package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"turnlog/eventlog"
)

// Bytes is a size; people write it as 1048576, 16MiB or 8MB.
type Bytes int64

// byteUnits lists the suffixes, longest first so that MiB is not read as B.
var byteUnits = []struct {
	suffix string
	factor int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9},
	{"b", 1},
}

// parseBytes reads a size such as 16MiB.
func parseBytes(text string) (Bytes, error) {
	number, factor := strings.ToLower(strings.TrimSpace(text)), int64(1)
	for _, unit := range byteUnits {
		if rest, found := strings.CutSuffix(number, unit.suffix); found {
			number, factor = strings.TrimSpace(rest), unit.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, fmt.Errorf("%q is not a size; write a whole number of bytes or one with a unit, like 16MiB or 500KB", text)
	}
	return Bytes(n * factor), nil
}

// String prints the size with the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, unit := range []struct {
		name   string
		factor Bytes
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b != 0 && b%unit.factor == 0 {
			return strconv.FormatInt(int64(b/unit.factor), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// parseList reads a list written on one line, with commas or spaces between.
func parseList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

// assign reads text into the setting's field of c. The error names the
// setting and what it wants.
func (s setting) assign(c *Config, text string) error {
	if len(s.choices) > 0 && !slices.Contains(s.choices, text) {
		return fmt.Errorf("%s: %q is not possible; use %s", s.key, text, s.unit)
	}
	var err error
	switch field := s.at(c).(type) {
	case *string:
		*field = text
	case *eventlog.Policy:
		*field = eventlog.Policy(text)
	case *eventlog.OnBusy:
		*field = eventlog.OnBusy(text)
	case *Bytes:
		*field, err = parseBytes(text)
	case *[]string:
		*field = parseList(text)
	case *bool:
		if *field, err = strconv.ParseBool(text); err != nil {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		if *field, err = strconv.Atoi(text); err != nil {
			err = fmt.Errorf("%q is not a whole number", text)
		}
	case *time.Duration:
		if *field, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%q is not a duration; write a number with a unit, like 500ms, 10s or 5m", text)
		}
	default:
		err = fmt.Errorf("field of type %T cannot be configured", field)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.key, err)
	}
	return nil
}

// text prints the setting's value in c as a person would write it.
func (s setting) text(c *Config) string {
	switch field := s.at(c).(type) {
	case *string:
		return *field
	case *eventlog.Policy:
		return string(*field)
	case *eventlog.OnBusy:
		return string(*field)
	case *Bytes:
		return field.String()
	case *[]string:
		return strings.Join(*field, ", ")
	case *bool:
		return strconv.FormatBool(*field)
	case *int:
		return strconv.Itoa(*field)
	case *time.Duration:
		return shortDuration(*field)
	default:
		return fmt.Sprint(field)
	}
}

// kind names the type of the setting's value in usage texts.
func (s setting) kind() string {
	switch s.at(&Config{}).(type) {
	case *Bytes:
		return "bytes"
	case *bool:
		return "bool"
	case *int:
		return "int"
	case *time.Duration:
		return "duration"
	case *[]string:
		return "list"
	default:
		return "string"
	}
}

// shortDuration prints 5m instead of 5m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
