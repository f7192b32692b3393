package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/history"
)

// scheduleName is the schedule's file in a run's directory.
const scheduleName = "schedule.jsonl"

// digest is what both reports are made of.
type digest struct {
	*check.Run
	verdicts []check.Verdict
	overall  check.Outcome
	// zero and end are the whole run on the history's clock, [zero, end).
	zero, end   int64
	series      *series
	tally       *tally
	leaderTerms []leaderTerm
}

// leaderTerm is a term with a leader.
type leaderTerm struct {
	term   uint64
	leader string // the member's name; empty if nobody knows it
	seen   int64  // when somebody told of it first
}

// read reads a run's operations and puts together what there is to show.
func read(r *check.Run, verdicts []check.Verdict) (*digest, error) {
	d := &digest{Run: r, verdicts: verdicts, overall: check.Overall(verdicts), zero: r.Header.At, end: r.Header.At}
	d.series, d.tally = newSeries(d.zero), newTally()
	for op, err := range r.Ops() {
		if err != nil {
			return nil, fmt.Errorf("the report: %w", err)
		}
		d.series.add(op)
		d.tally.add(op)
		d.reach(op.Return)
	}
	for _, p := range r.Processes {
		d.reach(p.From, p.To)
	}
	for _, f := range r.Faults {
		d.reach(f.From, f.To)
	}
	for _, s := range r.Statuses {
		d.reach(s.Return)
	}
	for _, at := range r.Phases {
		d.reach(at)
	}
	d.series.fit(d.end)
	d.end++ // half-open
	d.leaderTerms = leaderTerms(r.Statuses)
	return d, nil
}

// reach makes the run's time reach to these moments. One that never came is none.
func (d *digest) reach(moments ...int64) {
	for _, at := range moments {
		if at != math.MaxInt64 {
			d.end = max(d.end, at)
		}
	}
}

// length is how long all of the run was, from its first line to its last.
func (d *digest) length() time.Duration { return time.Duration(d.end - d.zero) }

// between is the time from one phase to another, 0 if one of them was not reached.
func (d *digest) between(from, to string) time.Duration {
	begun, ok := d.Phases[from]
	ended, reached := d.Phases[to]
	if !ok || !reached {
		return 0
	}
	return time.Duration(ended - begun)
}

// wall is a moment as the harness's wall clock had it.
func (d *digest) wall(at int64) time.Time {
	return time.Unix(0, d.Header.WallNanos+at-d.Header.At).UTC()
}

// leaderChanges is the number of times that another term's leader was seen.
func (d *digest) leaderChanges() int { return max(len(d.leaderTerms)-1, 0) }

// idsChecked returns the number of IDs that a checker looked at; false if none says so.
func (d *digest) idsChecked() (n int64, ok bool) {
	for _, v := range d.verdicts {
		if ids, counted := v.Facts["ids"]; counted {
			n, ok = max(n, ids), true
		}
	}
	return n, ok
}

// leaderTerms finds the terms with leaders in what members said, by term.
func leaderTerms(statuses []history.Status) []leaderTerm {
	members := make(map[string]string) // by member ID
	for _, s := range statuses {
		if s.MemberID != "" {
			members[s.MemberID] = s.Member
		}
	}
	first := make(map[uint64]leaderTerm)
	for _, s := range statuses {
		if s.LeaderID == "" {
			continue
		}
		known, ok := first[s.Term]
		switch {
		case !ok:
			known = leaderTerm{s.Term, members[s.LeaderID], s.Return}
		case s.LeaderID == s.MemberID:
			known.leader = s.Member // it should know best: others may name the one before
		}
		known.seen = min(known.seen, s.Return)
		first[s.Term] = known
	}
	return slices.SortedFunc(maps.Values(first), func(a, b leaderTerm) int { return cmp.Compare(a.term, b.term) })
}

// families are those of faults, in the order in which they are shown.
var families = []string{"network", "process", "clock", "disk"}

// familyRank orders families; one that isn't known comes last.
func familyRank(name string) int {
	if i := slices.Index(families, name); i >= 0 {
		return i
	}
	return len(families)
}

// binary is what the program under test says of itself, on one line.
func binary(text string) string {
	var fields map[string]string
	if json.Unmarshal([]byte(text), &fields) != nil {
		return plain(text)
	}
	var parts []string
	for _, name := range []string{"version", "commit", "go", "platform"} {
		if v := fields[name]; v != "" && name == "commit" {
			parts = append(parts, "commit "+plain(v))
		} else if v != "" {
			parts = append(parts, plain(v))
		}
		delete(fields, name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, plain(name+" "+fields[name]))
	}
	return strings.Join(parts, ", ")
}

// headline is the verdict and why.
func (d *digest) headline() string {
	names := func(o check.Outcome) string {
		var all []string
		for _, v := range d.verdicts {
			if v.Outcome == o || (o == check.Invalid && v.Outcome != check.Pass && v.Outcome != check.Fail) {
				all = append(all, v.Checker)
			}
		}
		return plain(strings.Join(all, ", "))
	}
	failed, nothing := names(check.Fail), names(check.Invalid)
	switch {
	case len(d.verdicts) == 0:
		return "no checker looked at the run"
	case failed != "" && nothing != "":
		return "promises were broken: " + failed + "; not shown: " + nothing
	case failed != "":
		return "promises were broken: " + failed
	case nothing != "":
		return "the run doesn't show enough: " + nothing
	default:
		return "all promises were kept, say " + plural(len(d.verdicts), "checker")
	}
}
