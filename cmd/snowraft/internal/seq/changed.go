package seq

import (
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// changedSequenceDoc is a sequence after a change, and who may not know of it yet.
type changedSequenceDoc struct {
	sequenceDoc
	Unreached []string `json:"unreached_members"`
}

// printChanged prints a sequence and what was done to it.
func printChanged(p *cli.Printer, done string, s *snowraftv1.Sequence, unreached []string) error {
	d := changedSequenceDoc{newSequenceDoc(s), append([]string{}, unreached...)} // never null in JSON
	goesOn := "has no number left"
	if d.Next != nil {
		goesOn = fmt.Sprintf("goes on with %d", *d.Next)
	}
	return p.Answer(d, cli.Line("%s %s (%s), which %s", done, d.Name, d.Mode, goesOn))
}

// oldBlocks is what a change means to members that were not reached.
const oldBlocks = "until they know of the change, they may go on giving out numbers of the blocks that they hold"

// warnUnreached tells people that members did not answer in time, and what that means.
func warnUnreached(a *cli.App, members []string, meaning string) {
	if len(members) > 0 {
		a.Warn("done, but not answered in time by %s: %s", strings.Join(members, ", "), meaning)
	}
}
