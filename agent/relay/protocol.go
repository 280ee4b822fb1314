package relay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"turnlog/agent"
	"turnlog/frame"
)

// Protocol is the version of the lines that this package builds and reads. It
// changes only when an agent written for the one before could misunderstand
// something: new keys, and new types of lines that agents read, come without a
// new version.
const Protocol = 1

// protocolLine is the type of the line with which an agent says what it speaks.
const protocolLine = "protocol"

// UnsupportedProtocol is the error_type of a turn whose agent speaks no version that we do.
const UnsupportedProtocol = "unsupported_protocol"

// protocol takes the declaration {"type":"protocol","version":1}; version may be
// a list.
func (o *Relay) protocol(line []byte) error {
	raw, _ := frame.Raw(line, "version")
	var versions []int
	if json.Unmarshal(raw, &versions) != nil || len(versions) == 0 {
		var one int
		if string(raw) == "null" || json.Unmarshal(raw, &one) != nil {
			return o.refuse(" a protocol line whose \"version\" is %s; it must be a whole number or a list of them", shown(raw))
		}
		versions = []int{one}
	}
	return CheckVersions(versions)
}

// CheckVersions takes the versions that an agent speaks. It returns
// nil with ours among them, else an *agent.Error that names both sides.
func CheckVersions(versions []int) error {
	if slices.Contains(versions, Protocol) {
		return nil
	}
	const most = 8 // of what an agent says, in a sentence
	texts := make([]string, 0, most)
	for _, v := range versions[:min(len(versions), most)] {
		texts = append(texts, strconv.Itoa(v))
	}
	return &agent.Error{
		Message: fmt.Sprintf("The agent speaks version %s of the agent protocol, this node speaks version %d.", strings.Join(texts, ", "), Protocol),
		Type:    UnsupportedProtocol,
	}
}

// Versions reads a list of versions as headers have it: "1" or "1, 2". What is no
// number is left out; false when nothing remains.
func Versions(list string) ([]int, bool) {
	var versions []int
	for part := range strings.SplitSeq(list, ",") {
		if v, err := strconv.Atoi(strings.TrimSpace(part)); err == nil {
			versions = append(versions, v)
		}
	}
	return versions, len(versions) > 0
}

func shown(raw []byte) string {
	if len(raw) == 0 {
		return "missing"
	}
	return short(raw)
}
