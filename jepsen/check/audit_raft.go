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

// raftAudit checks what the log says of Raft itself.
type raftAudit struct {
	v       *Verdict
	index   uint64
	term    uint64
	voters  map[string]bool            // by member ID
	mayLead map[uint64]map[string]bool // who votes by some configuration that was in force in a term, by term
	// strangers are the IP addresses of members of other clusters, whose names they lead to.
	strangers map[string]string
}

// newRaftAudit begins with what comes before the first entry of a log.
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

func (a *raftAudit) entry(e *raftlog.Entry) {
	if e.Index != a.index+1 {
		a.v.fail("entry %d follows entry %d", e.Index, a.index)
	}
	if e.Term < a.term {
		a.v.fail("entry %d is of term %d, and the one before it of term %d", e.Index, e.Term, a.term)
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

// strangersOf are the members of other clusters that came to this one.
func strangersOf(r *Run) map[string]string {
	strangers := map[string]string{}
	for _, n := range r.Notes {
		if n.What == history.NoteStranger {
			strangers[n.Detail] = n.Member
		}
	}
	return strangers
}

// configuration checks that at most one voter comes or goes: then any two majorities meet. Nobody
// is in it who is of another cluster.
func (a *raftAudit) configuration(e *raftlog.Entry) {
	a.v.Facts[factConfigs]++
	c, err := e.Configuration()
	if err != nil {
		a.v.fail("the configuration at index %d can't be decoded: %v", e.Index, err)
		return
	}
	next := map[string]bool{}
	for _, s := range c.Servers {
		_, address, _ := strings.Cut(string(s.Address), "@")
		ip, _, _ := strings.Cut(address, ":")
		if name, ok := a.strangers[ip]; ok {
			a.v.fail("the configuration at index %d has %s, %s, which is a member of another cluster", e.Index, name, s.ID)
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

// auditStatuses checks what members said of themselves.
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
			all[r.lifeOf(s)-1].take(s)
		}
	}
}

type statusAudit struct {
	v       *Verdict
	log     *raftlog.Log
	raft    *raftAudit
	windows *windowModel
	nonces  map[uint32]nonce           // of each start, see lanes
	last    map[uint32]*history.Status // of each start
	leaders map[uint64]*history.Status // that told of the leader of a term first
}

func (a *statusAudit) take(s *history.Status) {
	// A harvest of before the answer may not have what the member says.
	if a.log.Final != 0 && s.Return <= a.log.FinalAt && s.Commit > a.log.Final {
		a.v.fail("%s (start %d) said that %d entries were committed, and in the end there were %d: what was committed is lost",
			s.Member, s.Start, s.Commit, a.log.Final)
	}
	a.lanes(s)
	before := a.last[s.Start]
	if before != nil && s.Call < before.Return {
		return // at the same time as the one before: in no order
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
			a.v.fail("the %s of %s (start %d) went back from %d to %d", n.what, s.Member, s.Start, n.before, n.now)
		}
	}
	// A member doesn't tell term and leader of one moment. If it told both twice, the leader
	// between is the one of that term.
	if s.Term == before.Term && s.LeaderID == before.LeaderID && s.LeaderID != "" {
		a.leader(s)
	}
}

func (a *statusAudit) leader(s *history.Status) {
	first := a.leaders[s.Term]
	if first == nil {
		a.leaders[s.Term] = s
		if may, ok := a.raft.mayLead[s.Term]; ok && !may[s.LeaderID] {
			a.v.fail("%s (start %d) said that %s leads in term %d, which may not vote: %s may", s.Member, s.Start, s.LeaderID, s.Term, voterNames(may))
		}
		return
	}
	if first.LeaderID != s.LeaderID {
		a.v.fail("two leaders in term %d: %s, as %s said (start %d), and %s, as %s said (start %d)",
			s.Term, first.LeaderID, first.Member, first.Start, s.LeaderID, s.Member, s.Start)
		a.leaders[s.Term] = s
	}
}

func voterNames(may map[string]bool) string {
	return fmt.Sprint(slices.Sorted(maps.Keys(may)))
}
