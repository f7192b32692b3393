package check

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// FaultSetBack is the fault that sets members back. It begins when the members are killed, and ends when all members reach
// each other again.
const FaultSetBack = "set-back"

// JudgeSetBack judges a run whose members were set back once. The checkers of a single history do not apply to it.
func JudgeSetBack(dir string) (*Run, []Verdict, error) {
	r, plan, err := openPlanned(dir)
	if err != nil {
		return nil, nil, err
	}
	return r, []Verdict{SetBack(r), Restores(r), Exits(r), Vacuity(r, plan.Events, Seen{}, floorsFor(r, plan))}, nil
}

// SetBack compares the IDs and numbers that were issued twice with what the two branches of the log allow. It fails if
//
//   - a number was issued twice that only one branch granted after the copies;
//   - an ID was issued twice outside of the windows that were open when the members were set back;
//   - one branch issued a value twice, or the restored cluster issued a value of either branch;
//   - no log granted an issued number, or the window of an issued ID to the process that issued it; or
//   - a member issued a value after it had reported the seal.
//
// The run is invalid if no grant was lost or no number was issued twice.
func SetBack(r *Run) Verdict {
	v := newVerdict("set-back")
	b, err := openSetBack(r)
	if err == nil {
		v.Facts["lost"], v.Facts["entries"] = int64(b.old.Final-b.forked), int64(b.now.Final-b.forked) //nolint:gosec // G115: far below 2^63
		err = errors.Join(b.judge(v), b.silent(v, history.NoteSealed, r.firstEnded()))
		v.Summary = fmt.Sprintf("%d entries lost, %d entries in their place; %s", v.Facts["lost"], v.Facts["entries"], b.summary(v))
	}
	if err != nil {
		v.invalid("%v", err)
	}
	return *v
}

// openSetBack reads the logs of the branches, and those of the clusters that were restored from them.
func openSetBack(r *Run) (*branches, error) {
	b, err := openBranches(r, FaultSetBack, 1)
	if err != nil {
		return nil, err
	}
	now, err := openBranch(filepath.Join(r.Dir, BranchNew), 1)
	if err != nil {
		return nil, err
	}
	if err := b.continued(now); err != nil {
		return nil, err
	}
	b.side = b.setBackSide
	return b, b.grantedIn(2, len(r.Lives)+1)
}

// setBackSide returns the branch of the process that issued a range.
func (b *branches) setBackSide(i history.Issued) string {
	p, ok := b.run.Process(i.Start)
	switch {
	case b.run.lifeAt(i.Call) > 1:
		return sideNone
	case !ok || p.Generator:
		return "" // a holder outside of the members
	case p.From >= b.fault.From && slices.Contains(b.fault.Hosts, p.Member):
		return BranchNew
	case i.Call < b.fault.To:
		return BranchOld
	default:
		return "" // a member of the old branch forwards to a leader of the new one
	}
}

// firstEnded returns the moment at which the first life ended.
func (r *Run) firstEnded() int64 {
	if len(r.Lives) == 0 {
		return math.MaxInt64
	}
	return r.Lives[0].At
}
