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

// scheduleName is the name of the schedule's file in a run's directory.
const scheduleName = "schedule.jsonl"

// digest is the content of both reports.
type digest struct {
	*check.Run
	verdicts []check.Verdict
	overall  check.Outcome
	// zero and end bound the whole run on the history's clock: [zero, end).
	zero, end   int64
	series      *series
	tally       *tally
	leaderTerms []leaderTerm
}

// leaderTerm is a term with a leader.
type leaderTerm struct {
	term   uint64
	leader string // name of the leading member; empty if unknown
	seen   int64  // time of the first status with this leader
}

// read reads a run's operations and returns the digest.
func read(r *check.Run, verdicts []check.Verdict) (*digest, error) {
	d := &digest{Run: r, verdicts: verdicts, overall: check.Overall(verdicts), zero: r.Header.At, end: r.Header.At}
	d.series, d.tally = newSeries(d.zero), newTally()
	for op, err := range r.Ops() {
		if err != nil {
			return nil, fmt.Errorf("read operations for the report: %w", err)
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

// reach extends the run to these moments. It skips math.MaxInt64, which means never.
func (d *digest) reach(moments ...int64) {
	for _, at := range moments {
		if at != math.MaxInt64 {
			d.end = max(d.end, at)
		}
	}
}

// length returns the duration of the run from its first to its last line.
func (d *digest) length() time.Duration { return time.Duration(d.end - d.zero) }

// between returns the time from one phase to another, 0 if the run did not reach both.
func (d *digest) between(from, to string) time.Duration {
	begun, ok := d.Phases[from]
	ended, reached := d.Phases[to]
	if !ok || !reached {
		return 0
	}
	return time.Duration(ended - begun)
}

// wall returns a moment on the harness's wall clock.
func (d *digest) wall(at int64) time.Time {
	return time.Unix(0, d.Header.WallNanos+at-d.Header.At).UTC()
}

// leaderChanges returns the number of observed changes of the leader term.
func (d *digest) leaderChanges() int { return max(len(d.leaderTerms)-1, 0) }

// idsChecked returns the greatest number of IDs that a checker checked; false if no checker reports it.
func (d *digest) idsChecked() (n int64, ok bool) {
	for _, v := range d.verdicts {
		if ids, counted := v.Facts["ids"]; counted {
			n, ok = max(n, ids), true
		}
	}
	return n, ok
}

// leaderTerms returns the terms with leaders from the statuses of members, ordered by term.
func leaderTerms(statuses []history.Status) []leaderTerm {
	members := make(map[string]string) // keys: member IDs
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
			known.leader = s.Member // preferred: other members may still name the previous leader
		}
		known.seen = min(known.seen, s.Return)
		first[s.Term] = known
	}
	return slices.SortedFunc(maps.Values(first), func(a, b leaderTerm) int { return cmp.Compare(a.term, b.term) })
}

// families lists the families of faults with their own colors, in the order of the reports.
var families = []string{"network", "process", "clock", "disk"}

// familyRank returns the position of a family; other families come last.
func familyRank(name string) int {
	if i := slices.Index(families, name); i >= 0 {
		return i
	}
	return len(families)
}

// binary formats the version output of the program under test on one line.
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

// headline returns the reason of the overall verdict.
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
		return "no checker ran"
	case failed != "" && nothing != "":
		return "promises broken: " + failed + "; not enough evidence: " + nothing
	case failed != "":
		return "promises broken: " + failed
	case nothing != "":
		return "not enough evidence: " + nothing
	default:
		return "all promises kept according to " + plural(len(d.verdicts), "checker")
	}
}
