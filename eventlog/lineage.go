package eventlog

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxLineage is how many threads a thread's history goes back to at most.
const MaxLineage = 32

// lineageReasons says what set_thread.lua has found.
var lineageReasons = map[string]string{
	"cycle":  "a thread cannot descend from itself or from one that descends from it",
	"exists": "the thread exists already, and what it continues or branches off is settled at its creation",
}

// parents returns what the thread descends from, encoded.
func (m ThreadMeta) parents() (continues, branchOf string, err error) {
	switch {
	case m.Continues != "" && m.BranchOf != "":
		return "", "", fmt.Errorf("%w: it either continues a thread or branches off one", ErrLineage)
	case m.BranchSeq != 0 && m.Continues == "" && m.BranchOf == "":
		return "", "", fmt.Errorf("%w: a branch point without a thread", ErrLineage)
	case m.Continues != "":
		if continues, err = EncodeID(m.Continues); err != nil {
			return "", "", fmt.Errorf("continues: %w", err)
		}
	case m.BranchOf != "":
		if branchOf, err = EncodeID(m.BranchOf); err != nil {
			return "", "", fmt.Errorf("branch_of: %w", err)
		}
	}
	return continues, branchOf, nil
}

// ancestor is one line of a thread's lineage, as lua/lib_lineage.lua writes it.
type ancestor struct {
	thread string // encoded id
	seq    int64  // last row that counts; 0 = none of this one, negative = here history ends
	epoch  string // of that row
}

// parseLineage reads a lineage, nearest first. Lines it does not understand end it.
func parseLineage(s string) []ancestor {
	var out []ancestor
	for line := range strings.Lines(s) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) != 3 || f[0] == "" {
			break
		}
		seq, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			break
		}
		out = append(out, ancestor{thread: f[0], seq: seq, epoch: f[2]})
	}
	return out
}
