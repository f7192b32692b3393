package check

import (
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

// The logs of a run whose members were set back, each with its own archive in the run's directory: of the copies, of the
// cluster until it was set back, and of the cluster that continued from the copies.
const (
	BranchCopied = "branch-copied"
	BranchOld    = "branch-old"
	BranchNew    = "branch-new"
)

// FaultSetBack is the fault that sets members back. It begins when the members are killed, and ends when all members reach
// each other again.
const FaultSetBack = "set-back"

// sealedStops is the time after a member first reported the seal within which the member stops.
const sealedStops = time.Second

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
//   - no log granted an issued number; or
//   - a member issued a value after it had reported the seal.
//
// The run is invalid if no grant was lost or no number was issued twice.
func SetBack(r *Run) Verdict {
	v := newVerdict("set-back")
	b, err := openBranches(r)
	if err == nil {
		err = b.judge(v)
	}
	if err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("%d entries lost, %d entries in their place; %d repeats within the bound; %d IDs and %d numbers",
		v.Facts["lost"], v.Facts["entries"], v.Facts["repeats"], v.Facts["ids"], v.Facts["numbers"])
	return *v
}

// branches are the two histories of a cluster whose members were set back.
type branches struct {
	run      *Run
	fault    FaultSpan
	forked   uint64 // last index of the copies
	old, now *raftlog.Log
	// lost and again are the grants of the old and the new branch after the copies, all those of all logs.
	lost, again, all *raftlog.Grants
	lostSets         blockSets
	againSets        blockSets
}

// openBranches reads the logs of the branches and their grants.
func openBranches(r *Run) (*branches, error) {
	at := slices.IndexFunc(r.Faults, func(f FaultSpan) bool { return f.Name == FaultSetBack })
	if at < 0 {
		return nil, errors.New("no members were set back")
	}
	b := &branches{run: r, fault: r.Faults[at], all: raftlog.NewGrants()}
	copied, err := openBranch(r, BranchCopied)
	if err != nil {
		return nil, err
	}
	b.forked = copied.Final
	if b.old, err = openBranch(r, BranchOld); err != nil {
		return nil, err
	}
	if b.now, err = openBranch(r, BranchNew); err != nil {
		return nil, err
	}
	if b.lost, err = b.grants(b.old); err != nil {
		return nil, err
	}
	if b.again, err = b.grants(b.now); err != nil {
		return nil, err
	}
	b.lostSets, b.againSets = blocksOf(b.lost), blocksOf(b.again)
	for life := 2; life <= len(r.Lives)+1; life++ {
		log, err := raftlog.Open(r.Dir, life)
		if err != nil {
			return nil, err
		}
		granted, err := log.Grants()
		if err != nil {
			return nil, err
		}
		b.all.Add(granted)
	}
	return b, nil
}

// openBranch opens the complete log of a branch.
func openBranch(r *Run, name string) (*raftlog.Log, error) {
	log, err := raftlog.Open(filepath.Join(r.Dir, name), 1)
	if err != nil {
		return nil, err
	}
	if gaps := slices.Concat(log.Incomplete, log.Violations); len(gaps) > 0 {
		return nil, fmt.Errorf("%s: %s", name, gaps[0])
	}
	return log, nil
}

// grants adds the grants of a branch to all. It returns them without the blocks that the copies have.
func (b *branches) grants(log *raftlog.Log) (*raftlog.Grants, error) {
	granted, err := log.Grants()
	if err != nil {
		return nil, err
	}
	b.all.Add(granted)
	after := &raftlog.Grants{Layouts: granted.Layouts, Windows: granted.Windows, Blocks: map[string][]raftlog.Block{}}
	for name, blocks := range granted.Blocks {
		for _, block := range blocks {
			if block.Index > b.forked && !block.Repeated {
				after.Blocks[name] = append(after.Blocks[name], block)
			}
		}
	}
	return after, nil
}

func (b *branches) judge(v *Verdict) error {
	v.Facts["lost"], v.Facts["entries"] = int64(b.old.Final-b.forked), int64(b.now.Final-b.forked) //nolint:gosec // G115: far below 2^63
	if len(b.lost.Blocks) == 0 || len(b.again.Blocks) == 0 {
		v.invalid("%d sequences lost a block, and %d were granted one after the copies", len(b.lost.Blocks), len(b.again.Blocks))
	}
	err := errors.Join(
		b.run.uniqueIDs(v, DefaultBudget, b.mayRepeatIDs),
		b.run.uniqueNumbers(v, DefaultBudget, b.mayRepeatNumbers),
		newContainment(b.run, v).numbers(b.all),
		b.afterSeal(v))
	if v.Facts["repeats"] == 0 {
		v.invalid("nothing was issued twice")
	}
	return err
}

// mayRepeatNumbers reports whether both branches granted all these numbers after the copies.
func (b *branches) mayRepeatNumbers(g numberGroup, o repeat) bool {
	for n := o.low; n <= o.high; n++ {
		number := int64((n*g.step + g.rest) ^ sign) //nolint:gosec // G115: keeps the bits
		if !b.lostSets.one(g.key, number) || !b.againSets.one(g.key, number) {
			return false
		}
	}
	return b.apart(o)
}

// mayRepeatIDs reports whether all these IDs are in windows of both branches. That of the old one was open when the members
// were set back.
func (b *branches) mayRepeatIDs(name string, l *snowflake.Layout, o repeat) bool {
	workerBits := max(bits.Len64(l.Workers()), 1) - 1
	lane := raftlog.Lane{Layout: name, Worker: o.group & (1<<workerBits - 1)}
	since := (b.run.Header.WallNanos + b.fault.From - b.run.Header.At) / int64(time.Millisecond)
	for tick := int64(o.low >> l.SequenceBits()); tick <= int64(o.high>>l.SequenceBits()); tick++ { //nolint:gosec // G115: ticks of IDs
		has := func(w raftlog.Window) bool { return w.From <= tick && tick < w.Until }
		open := func(w raftlog.Window) bool { return has(w) && l.MillisAt(w.Until) > since }
		if !slices.ContainsFunc(b.lost.Windows[lane], open) || !slices.ContainsFunc(b.again.Windows[lane], has) {
			return false
		}
	}
	return b.apart(o)
}

// apart reports whether the two holders of a value belong to different branches of one life, as far as that is known.
func (b *branches) apart(o repeat) bool {
	if b.run.lifeAt(o.first.Call) > 1 || b.run.lifeAt(o.second.Call) > 1 {
		return false
	}
	one, other := b.side(o.first), b.side(o.second)
	return one == "" || other == "" || one != other
}

// side returns the branch of the process that issued a range, empty if it is unknown.
func (b *branches) side(i history.Issued) string {
	p, ok := b.run.Process(i.Start)
	switch {
	case !ok || p.Generator:
		return "" // a holder outside of the members may use grants of both
	case p.From >= b.fault.From && slices.Contains(b.fault.Hosts, p.Member):
		return BranchNew
	case i.Call < b.fault.To:
		return BranchOld
	default:
		return "" // a member of the old branch forwards to a leader of the new one
	}
}

// afterSeal adds a failure for each value that a member issued after it had reported the seal.
func (b *branches) afterSeal(v *Verdict) error {
	sealed := make(map[string]int64)
	for _, n := range b.run.Notes {
		if n.What == history.NoteSealed {
			sealed[n.Member] = n.At + int64(sealedStops)
		}
	}
	if len(sealed) == 0 {
		v.fail("no member was sealed")
	}
	for op, err := range b.run.Ops() {
		if err != nil {
			return err
		}
		at, ok := sealed[op.Member]
		if !ok || op.Call < at || b.run.lifeAt(op.Call) > 1 {
			continue
		}
		switch {
		case op.Outcome == history.OK && (hands(op) || op.Do == history.DoIDs):
			v.fail("%s was sealed, and answered operation %d (%s %s) %v later", op.Member, op.ID, op.Do, op.Key, time.Duration(op.Return-at+int64(sealedStops)))
		case op.Outcome == history.Fail:
			v.Facts["refused"]++
		}
	}
	if v.Facts["refused"] == 0 {
		v.invalid("no client called a sealed member")
	}
	return nil
}
