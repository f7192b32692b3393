package check

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/snowflake"
)

// Uniqueness fails if clients received an ID or a number of a sequence twice. It takes about [DefaultBudget] bytes of
// memory.
func Uniqueness(r *Run) Verdict { return UniquenessWithin(r, DefaultBudget) }

// UniquenessWithin is [Uniqueness] in about budget bytes of memory. It sorts larger amounts in temporary files in the
// run's directory.
func UniquenessWithin(r *Run, budget int) Verdict {
	v := newVerdict("uniqueness")
	err := errors.Join(
		r.uniqueIDs(v, budget, func(_ string, l *snowflake.Layout, o repeat) bool {
			return r.excused(l, o.first.Start, o.first.First) != nil || r.excused(l, o.second.Start, o.second.First) != nil
		}),
		r.uniqueNumbers(v, budget, func(numberGroup, repeat) bool { return false }))
	if err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("%d IDs in %d ranges, %d numbers of sequences: %d duplicates",
		v.Facts["ids"], v.Facts["ranges"], v.Facts["numbers"], v.Facts["duplicates"])
	return *v
}

// uniqueIDs checks the IDs of each layout separately. It counts repeats that may returns true for, and adds a failure for
// each other one.
func (r *Run) uniqueIDs(v *Verdict, budget int, may func(name string, l *snowflake.Layout, o repeat) bool) error {
	files, err := history.IDFiles(r.Dir)
	if err != nil {
		return err
	}
	for name := range files {
		layout, ok := r.Layouts[name]
		if !ok {
			return fmt.Errorf("history lacks layout %q, which has IDs", name)
		}
		err := sorting(r.Dir, budget, func(s *sorter) error {
			for i, err := range readAll(files[name]) {
				if err != nil {
					return err
				}
				v.Facts["ranges"]++
				v.Facts["ids"] += int64(i.Count)
				if err := r.addCells(v, s, layout, i); err != nil {
					return err
				}
			}
			return r.findDuplicates(v, s, func(e entry) string { return fmt.Sprintf("ID %d of layout %q", e.First, name) },
				func(o repeat) bool { return o.group != foreign && may(name, layout, o) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// foreign is the group of IDs that their layout cannot have.
const foreign = math.MaxUint64

// addCells adds a range under its position: the group is data center and worker, and the order in the group is tick and
// sequence. Unlike IDs, the positions of one cell are consecutive in every layout. A range across several cells, or with
// a step that is not the layout's, is split into single IDs.
func (r *Run) addCells(v *Verdict, s *sorter, layout *snowflake.Layout, i history.Issued) error {
	first, err := layout.Unpack(i.First)
	last, errLast := layout.Unpack(i.Last())
	first.Sequence, last.Sequence = 0, first.Sequence
	same := first == snowflake.Parts{Tick: last.Tick, Datacenter: last.Datacenter, Worker: last.Worker}
	if err == nil && errLast == nil && i.First != 0 && (i.Count == 1 || i.Step == layout.Step() && same) {
		workerBits := max(bits.Len64(layout.Workers()), 1) - 1
		return s.add(entry{
			hi:     first.Datacenter<<workerBits | first.Worker,
			lo:     uint64(first.Tick)<<layout.SequenceBits() | last.Sequence, //nolint:gosec // G115: a tick of an ID is not negative
			Issued: i,
		})
	}
	if i.Count > 1 {
		for k := range i.Count {
			one := i
			one.First, one.Count = i.First+uint64(k)*i.Step, 1
			if err := r.addCells(v, s, layout, one); err != nil {
				return err
			}
		}
		return nil
	}
	if i.First == 0 {
		v.fail("the invalid ID 0 of layout %q was issued: %v", layout.Name(), given{r, i})
	} else {
		v.fail("ID %d was issued, which is not valid in layout %q: %v: %v", i.First, layout.Name(), given{r, i}, err)
	}
	return s.add(entry{hi: foreign, lo: i.First, Issued: i})
}

// repeat is a range of positions in a group that two holders have.
type repeat struct {
	group, low, high uint64
	first, second    history.Issued
}

// reach returns the last position of an entry.
func (e entry) reach() uint64 { return e.lo + uint64(e.Count) - 1 } // within 64 bits: a range does not wrap

// findDuplicates adds a failure for each entry that overlaps an earlier one, unless may returns true for both. An entry covers
// Count positions from lo. what names the first ID or number of an entry.
func (r *Run) findDuplicates(v *Verdict, s *sorter, what func(entry) string, may func(repeat) bool) error {
	var earlier []entry // those that reach the present one: one, or those that may repeat each other
	for e, err := range s.sorted() {
		if err != nil {
			return err
		}
		earlier = slices.DeleteFunc(earlier, func(o entry) bool { return o.hi != e.hi || o.reach() < e.lo })
		twice := slices.IndexFunc(earlier, func(o entry) bool {
			return !may(repeat{e.hi, e.lo, min(e.reach(), o.reach()), o.Issued, e.Issued})
		})
		if twice < 0 {
			v.Facts["repeats"] += int64(len(earlier))
			earlier = append(earlier, e)
			continue
		}
		o := earlier[twice]
		v.Facts["duplicates"]++
		v.fail("%v was issued twice: %v; %v", lazily(func() string { return what(e) }), given{r, o.Issued}, given{r, e.Issued})
		if e.reach() > o.reach() {
			earlier[twice] = e
		}
	}
	return nil
}

// sorting calls f with a sorter, and then removes the sorter's files.
func sorting(runDir string, budget int, f func(*sorter) error) error {
	s, err := newSorter(runDir, budget)
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.close())
}

// readAll reads ID files one after the other. The iteration ends after an error.
func readAll(paths []string) iter.Seq2[history.Issued, error] {
	return func(yield func(history.Issued, error) bool) {
		for _, path := range paths {
			for i, err := range history.ReadIDs(path) {
				if !yield(i, err) || err != nil {
					return
				}
			}
		}
	}
}

// given describes a range that a client received: the operation, its times, and the process that answered.
type given struct {
	run *Run
	history.Issued
}

func (g given) String() string {
	text := fmt.Sprintf("%d from %d, in operation %d of client %d, from %s to %s",
		g.Count, g.First, g.Op, g.Client, g.run.clock(g.Call), g.run.clock(g.Return))
	if g.Step > 1 {
		text = fmt.Sprintf("%s, in steps of %d", text, g.Step)
	}
	return text + ", " + g.run.process(g.Start)
}

// clock returns a moment as text: seconds since the run's header.
func (r *Run) clock(at int64) string { return fmt.Sprintf("%.6f s", float64(at-r.Header.At)/1e9) }

// process returns the name of the process of a start.
func (r *Run) process(start uint32) string {
	if p, ok := r.Process(start); ok {
		return fmt.Sprintf("start %d of %s", start, p.Member)
	}
	return fmt.Sprintf("start %d", start)
}

// lazily is a text that is made only if it is printed.
type lazily func() string

func (l lazily) String() string { return l() }
