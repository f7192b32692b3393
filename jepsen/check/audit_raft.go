package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// raftAudit checks the indexes, terms and configurations of a log.
type raftAudit struct {
	v         *Verdict
	index     uint64                     // last index
	term      uint64                     // last term
	voters    map[string]bool            // member IDs; nil if unknown
	mayLead   map[uint64]map[string]bool // voters of all configurations of a term, by term
	strangers map[string]string          // names of members of other clusters, by IP address
}

// newRaftAudit returns an audit that begins at the base of a log.
func newRaftAudit(v *Verdict, log *raftlog.Log) *raftAudit {
	a := &raftAudit{v: v, index: log.Base.Index, term: log.Base.Term, mayLead: map[uint64]map[string]bool{}}
	if len(log.Voters) > 0 {
		a.voters = map[string]bool{}
	}
	for _, id := range log.Voters {
		a.voters[id] = true
	}
	return a
}

// entry checks the next entry.
func (a *raftAudit) entry(e *raftlog.Entry) {
	if e.Index != a.index+1 {
		a.v.fail("entry %d follows entry %d", e.Index, a.index)
	}
	if e.Term < a.term {
		a.v.fail("entry %d has term %d, but the entry before it has term %d", e.Index, e.Term, a.term)
	}
	if e.Term != a.term {
		a.v.Facts[factTerms]++
		a.mayLead[e.Term] = maps.Clone(a.voters)
	}
	a.index, a.term = e.Index, e.Term
	if e.Type == raft.LogConfiguration {
		a.configuration(e)
	}
}

// strangersOf returns the names of the run's members of other clusters, by IP address.
func strangersOf(r *Run) map[string]string {
	strangers := map[string]string{}
	for _, n := range r.Notes {
		if n.What == history.NoteStranger {
			strangers[n.Detail] = n.Member
		}
	}
	return strangers
}

// configuration checks that a configuration adds or removes at most one voter, so that any two majorities overlap, and
// that it has no member of another cluster.
func (a *raftAudit) configuration(e *raftlog.Entry) {
	a.v.Facts[factConfigs]++
	c, err := e.Configuration()
	if err != nil {
		a.v.fail("the configuration at index %d cannot be decoded: %v", e.Index, err)
		return
	}
	next := map[string]bool{}
	for _, s := range c.Servers {
		_, address, _ := strings.Cut(string(s.Address), "@")
		ip, _, _ := strings.Cut(address, ":")
		if name, ok := a.strangers[ip]; ok {
			a.v.fail("the configuration at index %d contains %s (%s), a member of another cluster", e.Index, name, s.ID)
		}
		if s.Suffrage == raft.Voter {
			next[string(s.ID)] = true
		}
	}
	var changed []string
	for id := range next {
		if !a.voters[id] {
			changed = append(changed, "+"+id)
		}
	}
	for id := range a.voters {
		if !next[id] {
			changed = append(changed, "-"+id)
		}
	}
	slices.Sort(changed)
	if len(changed) > 1 && a.voters != nil {
		a.v.fail("the configuration at index %d changes %d voters at once: %s", e.Index, len(changed), strings.Join(changed, ", "))
	}
	if len(next) == 0 {
		a.v.fail("the configuration at index %d has no voters", e.Index)
	}
	a.voters = next
	if a.mayLead[e.Term] == nil {
		a.mayLead[e.Term] = map[string]bool{}
	}
	maps.Copy(a.mayLead[e.Term], next)
}

// auditStatuses checks the statuses of members against the log of their life.
func auditStatuses(r *Run, a *audit) {
	var all []statusAudit
	for _, life := range a.lives {
		all = append(all, statusAudit{
			v: a.v, log: life.log, raft: life.raft, windows: a.windows,
			last: map[uint32]*history.Status{}, leaders: map[uint64]*history.Status{}, nonces: map[uint32]nonce{},
		})
	}
	for i := range r.Statuses {
		if s := &r.Statuses[i]; s.Error == "" {
			all[r.lifeOf(s.Start, s.Call)-1].take(s)
		}
	}
}

// statusAudit checks the statuses of one life.
type statusAudit struct {
	v       *Verdict
	log     *raftlog.Log
	raft    *raftAudit
	windows *windowModel
	nonces  map[uint32]nonce           // nonces by start, see belongs
	last    map[uint32]*history.Status // latest status by start
	leaders map[uint64]*history.Status // first status that shows the leader of a term, by term
}

// take checks the next status.
func (a *statusAudit) take(s *history.Status) {
	// A harvest before the answer may lack the newest entries.
	if a.log.Final != 0 && s.Return <= a.log.FinalAt && s.Commit > a.log.Final {
		a.v.fail("%s (start %d) reported commit index %d, but the final commit index is %d: committed entries were lost",
			s.Member, s.Start, s.Commit, a.log.Final)
	}
	a.lanes(s)
	before := a.last[s.Start]
	if before != nil && s.Call < before.Return {
		return // overlaps the latest status: order unknown
	}
	a.last[s.Start] = s
	if before == nil || s.Start == 0 {
		return
	}
	for _, n := range [...]struct {
		what        string
		before, now uint64
	}{{"commit index", before.Commit, s.Commit}, {"applied index", before.Applied, s.Applied}, {"term", before.Term, s.Term}} {
		if n.now < n.before {
			a.v.fail("the %s of %s (start %d) decreased from %d to %d", n.what, s.Member, s.Start, n.before, n.now)
		}
	}
	// Term and leader in a status may be from different moments. Two consecutive statuses with the same term and leader
	// show that the leader is that of the term.
	if s.Term == before.Term && s.LeaderID == before.LeaderID && s.LeaderID != "" {
		a.leader(s)
	}
}

// leader checks the leader of a term in a status.
func (a *statusAudit) leader(s *history.Status) {
	first := a.leaders[s.Term]
	if first == nil {
		a.leaders[s.Term] = s
		if may, ok := a.raft.mayLead[s.Term]; ok && !may[s.LeaderID] {
			a.v.fail("%s (start %d) reported leader %s in term %d, which is not a voter; the voters are %s",
				s.Member, s.Start, s.LeaderID, s.Term, voterNames(may))
		}
		return
	}
	if first.LeaderID != s.LeaderID {
		a.v.fail("two leaders in term %d: %s, reported by %s (start %d), and %s, reported by %s (start %d)",
			s.Term, first.LeaderID, first.Member, first.Start, s.LeaderID, s.Member, s.Start)
		a.leaders[s.Term] = s
	}
}

func voterNames(may map[string]bool) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(may)))
}
