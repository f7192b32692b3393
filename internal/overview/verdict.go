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

// maxFindings is the most findings of a verdict.
const maxFindings = 64

// judge sets the verdict of an overview, its leader and its quorum. The statuses are those of the members that answer, by
// ID; own is that of the composing member.
func judge(o *snowraftv1.Overview, statuses map[string]*snowraftv1.GetStatusResponse, own *snowraftv1.GetStatusResponse) {
	f := &facts{Overview: o, own: own, statuses: statuses}
	f.sort()
	findings := f.findings()
	slices.SortStableFunc(findings, func(a, b *snowraftv1.Finding) int { return int(b.GetLevel()) - int(a.GetLevel()) })
	v := &snowraftv1.Verdict{Level: good, Findings: findings[:min(len(findings), maxFindings)], ServesUntilAtMs: f.until}
	var parts []string
	if len(findings) > 0 && findings[0].GetLevel() > good {
		v.Level = findings[0].GetLevel()
		parts = append(parts, findings[0].GetText())
	}
	if own.GetClusterId() != "" {
		parts = append(parts, f.state()...)
	}
	if v.GetLevel() > good && findings[0].GetAction() != "" {
		parts = append(parts, findings[0].GetAction())
	}
	v.Sentence = capital(strings.Join(parts, "; ")) + "."
	o.Verdict = v
}

// state says which members issue IDs, which one leads, how many may fail, and until when.
func (f *facts) state() (parts []string) {
	parts = append(parts, f.issuers())
	if f.leads != nil {
		parts = append(parts, f.leads.GetMember().GetName()+" leads")
	} else {
		parts = append(parts, "no leader is known")
	}
	single := len(f.GetMembers()) == 1
	if f.leads != nil && f.GetQuorum().GetVoters() > 1 {
		parts = append(parts, mayFail(f.GetQuorum().GetMayFail()))
	}
	switch {
	case f.until == 0:
	case f.leads == nil && single, len(f.issuing) == 1:
		parts = append(parts, fmt.Sprintf("without quorum %s continues until %s", f.issuing[0].GetMember().GetName(), clockTime(f.until, f.GetComposedAtMs())))
	default:
		parts = append(parts, "without quorum each continues until "+clockTime(f.until, f.GetComposedAtMs()))
	}
	return parts
}

// issuers says which members issue IDs.
func (f *facts) issuers() string {
	all, issue := len(f.GetMembers()), len(f.issuing)
	switch {
	case all == 1 && issue == 1:
		return "the only member issues IDs"
	case issue == 0 && len(f.silent) == 0:
		return "no member issues IDs"
	case issue == 0:
		return "no member that answers issues IDs"
	case len(f.silent) == 0:
		return fmt.Sprintf("%d of %d members issue IDs", issue, all)
	case issue == 1:
		return f.issuing[0].GetMember().GetName() + " issues IDs"
	default:
		return fmt.Sprintf("%s issue IDs", list(names(f.issuing)))
	}
}

func mayFail(n uint32) string {
	switch n {
	case 0:
		return "no further voter may fail"
	case 1:
		return "one may fail"
	default:
		return fmt.Sprintf("%d may fail", n)
	}
}

func names(members []*snowraftv1.MemberView) (all []string) {
	for _, m := range members {
		all = append(all, m.GetMember().GetName())
	}
	return all
}

// maxNames is the most names in a list for people.
const maxNames = 4

// list joins names: "a, b and c".
func list(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames-1], ", "), len(names)-maxNames+1)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
