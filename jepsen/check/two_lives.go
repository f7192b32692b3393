package check

import (
	"errors"
	"fmt"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// FaultTwoLives is the fault that lets a cluster run next to the one that was restored from its backup. It begins with the
// return of the old cluster, on the hosts of the fault, and ends when an operator ends that cluster.
const FaultTwoLives = "two-lives"

// JudgeTwoLives judges a run in which a cluster returned once next to the last one that was restored from its backup. The checkers of a single history
// do not apply to it.
func JudgeTwoLives(dir string) (*Run, []Verdict, error) {
	r, plan, err := openPlanned(dir)
	if err != nil {
		return nil, nil, err
	}
	floors := floorsFor(r, plan)
	floors.Rate = shortShare * r.Header.Rate // the restored cluster stops for half of the run
	return r, []Verdict{TwoLives(r), Exits(r), Vacuity(r, plan.Events, Seen{}, floors)}, nil
}

// TwoLives compares the IDs and numbers that were issued twice with what the logs of both clusters allow. It fails if
//
//   - a number was issued twice that only one of the two granted after the end of the old cluster;
//   - an ID was issued twice outside of the windows of both, or of those that the old cluster had after its return;
//   - a process of before the last restore issued one of the values, or one cluster issued a value twice;
//   - no log granted an issued number, or the window of an issued ID to the process that issued it; or
//   - a member of the later cluster issued a value after it had reported the old one, until an operator ended that.
//
// The run is invalid if no number was issued twice.
func TwoLives(r *Run) Verdict {
	v := newVerdict("two-lives")
	b, err := openTwoLives(r)
	if err == nil {
		err = errors.Join(b.judge(v), b.silent(v, history.NoteHeard, b.fault.To))
		v.Summary = fmt.Sprintf("%d entries of the old cluster after its return; %s", b.old.Final-b.forked, b.summary(v))
	}
	if err != nil {
		v.invalid("%v", err)
	}
	return *v
}

// openTwoLives reads the logs of the two clusters.
func openTwoLives(r *Run) (*branches, error) {
	old := len(r.Lives)
	if old == 0 {
		return nil, errors.New("no restore")
	}
	b, err := openBranches(r, FaultTwoLives, old)
	if err != nil {
		return nil, err
	}
	now, err := openBranch(r.Dir, old+1)
	if err != nil {
		return nil, err
	}
	b.side = b.lifeSide
	return b, errors.Join(b.continued(now), b.grantedIn(1, old-1))
}

// lifeSide returns the cluster of the process that issued a range.
func (b *branches) lifeSide(i history.Issued) string {
	p, ok := b.run.Process(i.Start)
	switch {
	case !ok:
		return ""
	case slices.Contains(b.fault.Hosts, p.Member):
		return BranchOld
	case b.run.lifeAt(p.From) > len(b.run.Lives):
		return BranchNew
	default:
		return sideNone
	}
}
