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

// The logs of a run with two histories, each with its own archive in the run's directory: of the copies, of the cluster that
// was copied, and of the one that continued from the copies.
const (
	BranchCopied = "branch-copied"
	BranchOld    = "branch-old"
	BranchNew    = "branch-new"
)

// stopsWithin is the time after a member first reported that it must stop within which the member stops.
const stopsWithin = time.Second

// branches are the two histories of one cluster. Both can grant the same.
type branches struct {
	run      *Run
	fault    FaultSpan
	forked   uint64 // last index of the copies
	old, now *raftlog.Log
	// lost and again are the grants of the old and the new branch after the copies, all those of all logs.
	lost, again, all *raftlog.Grants
	lostSets         blockSets
	againSets        blockSets
	// side returns the branch of the process that issued a range, empty if the process may use grants of both.
	side func(history.Issued) string
}

// openBranches reads the logs of the copies and of the old branch of a fault, which are of one life, and their grants.
func openBranches(r *Run, fault string, life int) (*branches, error) {
	at := slices.IndexFunc(r.Faults, func(f FaultSpan) bool { return f.Name == fault })
	if at < 0 {
		return nil, fmt.Errorf("no fault %s", fault)
	}
	b := &branches{run: r, fault: r.Faults[at], all: raftlog.NewGrants()}
	copied, err := openBranch(filepath.Join(r.Dir, BranchCopied), life)
	if err != nil {
		return nil, err
	}
	b.forked = copied.Final
	if b.old, err = openBranch(filepath.Join(r.Dir, BranchOld), life); err != nil {
		return nil, err
	}
	b.lost, err = b.grants(b.old)
	return b, err
}

// continued takes the log of the new branch, which has begun at an index.
func (b *branches) continued(now *raftlog.Log) (err error) {
	b.now = now
	if b.again, err = b.grants(now); err != nil {
		return err
	}
	b.lostSets, b.againSets = blocksOf(b.lost), blocksOf(b.again)
	return nil
}

// grantedIn adds the grants of the lives from one to another, both included, to all.
func (b *branches) grantedIn(from, to int) error {
	for life := from; life <= to; life++ {
		log, err := raftlog.Open(b.run.Dir, life)
		if err != nil {
			return err
		}
		granted, err := log.Grants()
		if err != nil {
			return err
		}
		b.all.Add(granted)
	}
	return nil
}

// openBranch opens the complete log of a branch.
func openBranch(dir string, life int) (*raftlog.Log, error) {
	log, err := raftlog.Open(dir, life)
	if err != nil {
		return nil, err
	}
	if gaps := slices.Concat(log.Incomplete, log.Violations); len(gaps) > 0 {
		return nil, fmt.Errorf("%s, life %d: %s", filepath.Base(dir), life, gaps[0])
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

// judge compares all values with the grants, and those that were issued twice with the grants of both branches.
func (b *branches) judge(v *Verdict) error {
	if len(b.lost.Blocks) == 0 || len(b.again.Blocks) == 0 {
		v.invalid("after the copies, %d sequences got a block in the old branch, and %d in the new one", len(b.lost.Blocks), len(b.again.Blocks))
	}
	err := errors.Join(
		b.run.uniqueIDs(v, DefaultBudget, b.mayRepeatIDs),
		b.run.uniqueNumbers(v, DefaultBudget, b.mayRepeatNumbers),
		newContainment(b.run, v).numbers(b.all),
		b.contained(v))
	if v.Facts["repeats"] == 0 {
		v.invalid("nothing was issued twice")
	}
	return err
}

func (b *branches) summary(v *Verdict) string {
	return fmt.Sprintf("%d repeats within the bound; %d IDs and %d numbers", v.Facts["repeats"], v.Facts["ids"], v.Facts["numbers"])
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

// mayRepeatIDs reports whether all these IDs are in windows of both branches. That of the old one reaches
// beyond the beginning of the fault.
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

// sideNone is the side of processes that issue nothing that another one issues.
const sideNone = "none"

// apart reports whether the two holders of a value belong to different branches, as far as that is known.
func (b *branches) apart(o repeat) bool {
	one, other := b.side(o.first), b.side(o.second)
	return one != sideNone && other != sideNone && (one == "" || other == "" || one != other)
}

// contained adds a failure for each ID outside of the windows that a log granted to the process that issued it. Each process
// has its own nonce, which is that of all its windows.
func (b *branches) contained(v *Verdict) error {
	files, err := history.IDFiles(b.run.Dir)
	if err != nil {
		return err
	}
	nonces := make(map[uint32][]nonce) // those that a start may have
	for name, paths := range files {
		l := b.run.Layouts[name]
		for i, err := range readAll(paths) {
			if err != nil {
				return err
			}
			p, ok := b.run.Process(i.Start)
			if !ok {
				continue
			}
			for k := uint32(0); k < i.Count; k++ {
				id := i.First + uint64(k)*i.Step
				had, known := nonces[i.Start]
				holds := slices.DeleteFunc(b.holders(l, id, p.Member), func(n nonce) bool { return known && !slices.Contains(had, n) })
				if len(holds) == 0 {
					v.fail("ID %d of layout %q is in no window of the process that issued it: %v", id, name, given{b.run, i})
					break
				}
				if nonces[i.Start] = holds; oneCell(l, &i) {
					break
				}
			}
		}
	}
	return nil
}

// holders returns the nonces of a member's windows that have an ID.
func (b *branches) holders(l *snowflake.Layout, id uint64, member string) (found []nonce) {
	parts, err := l.Unpack(id)
	if err != nil {
		return nil
	}
	for _, w := range b.all.Windows[raftlog.Lane{Layout: l.Name(), Worker: parts.Worker}] {
		if w.From <= parts.Tick && parts.Tick < w.Until && holderName(w.Holder) == member {
			found = append(found, w.NonceHash)
		}
	}
	return found
}

// silent adds a failure for each value that a member issued after it had reported that it must stop, until an end.
func (b *branches) silent(v *Verdict, note string, end int64) error {
	stopped := make(map[string]int64)
	for _, n := range b.run.Notes {
		if n.What == note {
			stopped[n.Member] = n.At + int64(stopsWithin)
		}
	}
	if len(stopped) == 0 {
		v.fail("no member reported that it was %s", note)
	}
	for op, err := range b.run.Ops() {
		if err != nil {
			return err
		}
		at, ok := stopped[op.Member]
		if !ok || op.Call < at || op.Call >= end {
			continue
		}
		switch {
		case op.Outcome == history.OK && (hands(op) || op.Do == history.DoIDs):
			v.fail("%s was %s, and answered operation %d (%s %s) %v later", op.Member, note, op.ID, op.Do, op.Key, time.Duration(op.Return-at+int64(stopsWithin)))
		case op.Outcome == history.Fail:
			v.Facts["refused"]++
		}
	}
	if v.Facts["refused"] == 0 {
		v.invalid("no client called a member that was %s", note)
	}
	return nil
}
