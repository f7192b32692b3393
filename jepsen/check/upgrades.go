package check

import (
	"fmt"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// The facts that Upgrades counts.
const (
	factMixedTerms = "terms_led_in_a_mix" // terms in which another member ran another program than the leader
	factNewer      = "newer_commands"     // committed newer commands with an effect
	factSwapped    = "members_swapped"    // starts of members with another program than before
)

// Upgrades checks a mixed run, whose later program knows commands of the newer version: the version does not rise before the
// first request to finalize the upgrade. The run is invalid if members did not change their programs, if no member led a mix
// of both, or if no newer command was committed. Other checkers check that no member halts before, and that all states agree.
func Upgrades(r *Run, newer uint32, logs ...*raftlog.Log) Verdict {
	v := newVerdict("upgrades")
	committed, requested := r.committedBeforeFinalize()
	for _, log := range logs {
		for e, err := range log.Replay() {
			if err != nil {
				v.invalid("%v", err)
				break
			}
			if e.Command == nil || e.Result.Failure() != nil {
				continue
			}
			if e.Command.GetVersion() >= newer {
				v.Facts[factNewer]++
			}
			switch to := e.Command.GetRaiseVersion().GetVersion(); {
			case to < newer:
			case !requested:
				v.fail("the command at index %d raises the version to %d, but no operator finalized the upgrade", e.Index, to)
			case e.Index <= committed:
				v.fail("the command at index %d raises the version to %d, but was committed before an operator finalized the upgrade",
					e.Index, to)
			}
		}
	}
	v.Facts[factSwapped], v.Facts[factMixedTerms] = r.swaps(), r.mixedTerms()
	for _, fact := range []string{factNewer, factSwapped, factMixedTerms} {
		if v.Facts[fact] == 0 {
			v.invalid("%s: 0, expected at least 1", fact)
		}
	}
	v.Summary = fmt.Sprintf("members changed their program %d times, leaders of %d terms led a mix, and %d newer commands were committed: %d failures",
		v.Facts[factSwapped], v.Facts[factMixedTerms], v.Facts[factNewer], v.Facts[factFailures])
	return *v
}

// committedBeforeFinalize returns the highest index that a member reported as committed before the first request to
// finalize the upgrade, and whether there was such a request. A later life of the run begins at a higher index than all
// entries of the earlier ones.
func (r *Run) committedBeforeFinalize() (index uint64, requested bool) {
	at := slices.IndexFunc(r.Notes, func(n history.Note) bool { return n.What == history.NoteFinalize })
	if at < 0 {
		return 0, false
	}
	for _, s := range r.Statuses {
		if s.Return <= r.Notes[at].At {
			index = max(index, s.Commit)
		}
	}
	return index, true
}

// swaps returns the number of starts of members with another program than the start before.
func (r *Run) swaps() (n int64) {
	last := make(map[string]string)
	for _, p := range r.Processes {
		if p.Generator {
			continue
		}
		if before, ok := last[p.Member]; ok && before != p.Binary {
			n++
		}
		last[p.Member] = p.Binary
	}
	return n
}

// mixedTerms returns the number of terms in which a leader reported its leadership while another member ran another
// program.
func (r *Run) mixedTerms() int64 {
	of := make(map[uint32]ProcessSpan)
	for _, p := range r.Processes {
		of[p.Start] = p
	}
	terms := make(map[uint64]bool)
	for _, s := range r.Statuses {
		leader, ok := of[s.Start]
		if !ok || s.MemberID == "" || s.LeaderID != s.MemberID || terms[s.Term] {
			continue
		}
		terms[s.Term] = slices.ContainsFunc(r.Processes, func(p ProcessSpan) bool {
			return !p.Generator && p.Member != leader.Member && p.Binary != leader.Binary && p.From < s.Call && s.Return < p.To
		})
	}
	n := int64(0)
	for _, mixed := range terms {
		if mixed {
			n++
		}
	}
	return n
}
