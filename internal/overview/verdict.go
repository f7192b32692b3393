package overview

import (
	"fmt"
	"slices"
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	good    = snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD
	warning = snowraftv1.VerdictLevel_VERDICT_LEVEL_WARNING
	bad     = snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD
)

// maxFindings is the largest number of findings in a verdict.
const maxFindings = 64

// setVerdict sets the verdict of an overview, its leader and its quorum.
func setVerdict(o *snowraftv1.Overview, by evidence) {
	f := &facts{Overview: o, evidence: by}
	f.sort()
	findings := f.findings()
	slices.SortStableFunc(findings, func(a, b finding) int { return int(b.GetLevel()) - int(a.GetLevel()) })
	v := &snowraftv1.Verdict{Level: good, ServesUntilAtMs: f.until}
	more := 0
	for i, found := range findings {
		if i < maxFindings {
			v.Findings = append(v.Findings, found.Finding)
		}
		if i > 0 && found.GetLevel() > good && !found.mentioned {
			more++
		}
	}
	var parts []string
	if len(findings) > 0 && findings[0].GetLevel() > good {
		v.Level = findings[0].GetLevel()
		parts = append(parts, findings[0].GetText())
		if more > 0 {
			parts = append(parts, count(more, "more problem"))
		}
	}
	if f.own.GetClusterId() != "" {
		parts = append(parts, f.state()...)
	}
	if v.GetLevel() > good && findings[0].GetAction() != "" {
		parts = append(parts, findings[0].GetAction())
	}
	v.Sentence = capital(strings.Join(parts, "; "), names(o.GetMembers())) + "."
	o.Verdict = v
}

// state returns clauses about the members that issue IDs, the leader, the tolerated failures, and the time limit without
// quorum.
func (f *facts) state() []string {
	if len(f.GetMembers()) == 1 && len(f.issuing) == 1 && f.leads != nil {
		return []string{f.leads.GetMember().GetName() + " is issuing IDs and is the only member", "the cluster tolerates no failure"}
	}
	parts := []string{f.issuers()}
	if f.stuck && len(f.issuing) > 0 {
		parts[0] += ", but no numbers of strict sequences"
	}
	if f.leads != nil {
		parts = append(parts, f.leads.GetMember().GetName()+" leads")
		if f.GetQuorum().GetVoters() > 2 {
			parts = append(parts, f.tolerates())
		}
	}
	if f.until > 0 {
		until := clockTime(f.until, f.GetComposedAtMs())
		if len(f.issuing) == 1 {
			parts = append(parts, fmt.Sprintf("without quorum %s continues until %s", f.issuing[0].GetMember().GetName(), until))
		} else {
			parts = append(parts, "without quorum each continues until "+until)
		}
	}
	return parts
}

// issuers returns a clause about the members that issue IDs. The state of silent members is unknown.
func (f *facts) issuers() string {
	all, issue := len(f.GetMembers()), len(f.issuing)
	are := verb(issue, "is", "are")
	switch {
	case issue == 0 && len(f.silent) == 0:
		return "no member is issuing IDs"
	case issue == 0:
		return "no member that answers is issuing IDs"
	case len(f.silent) == 0:
		return fmt.Sprintf("%d of %s %s issuing IDs", issue, count(all, "member"), are)
	default:
		return fmt.Sprintf("%s %s issuing IDs", list(names(f.issuing)), are)
	}
}

// tolerates returns a clause with the number of tolerated failures. Voters that do not answer or replicate count as failed.
func (f *facts) tolerates() string {
	more := ""
	if len(f.silent)+len(f.stalled) > 0 {
		more = "further "
	}
	switch n := f.GetQuorum().GetMayFail(); n {
	case 0:
		return "the cluster tolerates no " + more + "failure"
	case 1:
		return "the cluster tolerates one " + more + "failure"
	default:
		return fmt.Sprintf("the cluster tolerates %d %sfailures", n, more)
	}
}
