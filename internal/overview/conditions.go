package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// exhaustsSoon is the remaining time of a layout's time field from which the layout is a finding.
const exhaustsSoon = 365 * 24 * time.Hour

// expiresSoon is the remaining validity of a certificate below which it is a finding.
const expiresSoon = 14 * 24 * time.Hour

// restored reports whether a restore now prevents the cluster from granting windows.
func (f *facts) restored() bool {
	r := f.own.GetRestoration()
	return r.GetOldClusterAlive() != "" || r.GetIssuesAtMs() > f.GetComposedAtMs()
}

// restoration returns findings about a cluster that started from a backup.
func (f *facts) restoration() (all []finding) {
	r := f.own.GetRestoration()
	if r == nil {
		return nil
	}
	switch {
	case r.GetOldClusterAlive() != "":
		all = append(all, f.oldCluster(r))
	case r.GetIssuesAtMs() > f.GetComposedAtMs():
		all = append(all, of(bad, fmt.Sprintf("the cluster was restored and grants no windows before %s", clockTime(r.GetIssuesAtMs(), f.GetComposedAtMs())),
			"wait until then", runbookRestored))
	}
	if n := r.GetFrozenSequences(); n > 0 {
		shown := int(min(n, 1<<30))
		all = append(all, of(warning, fmt.Sprintf("%s %s frozen since the restore", count(shown, "sequence"), verb(shown, "is", "are")),
			"resume them with the last numbers of your own data", runbookRestored).by("snowraft seq resume"))
	}
	if n := r.GetSuspendedTemplates(); n > 0 {
		shown := int(min(n, 1<<30))
		all = append(all, of(warning, fmt.Sprintf("%s %s suspended since the restore, so no sequence begins with %s", count(shown, "template"), verb(shown, "is", "are"), verb(shown, "it", "them")),
			"resume them with a start beyond the numbers of every lost sequence", runbookRestored).by("snowraft template list"))
	}
	if n := r.GetClosedPasts(); n > 0 {
		shown := int(min(n, 1<<30))
		all = append(all, of(warning, fmt.Sprintf("the restore closed the past of %s, so no backfill job can be started there", count(shown, "layout")),
			"open it with the last job of the old cluster", runbookRestored).by("snowraft backfill resume LAYOUT --after JOB"))
	}
	if r.GetNamesClosed() {
		all = append(all, of(warning, "no sequence with a new name can be created since the restore",
			"acknowledge the restore, then create what the backup lacks, each sequence with its --start", runbookRestored).by("snowraft restore acknowledge"))
	}
	return all
}

// oldCluster returns the finding about another life of this cluster, for which it stops.
func (f *facts) oldCluster(r *snowraftv1.Restoration) finding {
	text := "the cluster from before the restore still runs, so this one issues nothing: "
	if r.GetOldClusterIsSibling() {
		text = "another cluster was restored from the same one and runs, so both issue nothing: "
	}
	found := of(bad, text+r.GetOldClusterAlive(), "if this cluster is a test, stop it; otherwise stop the other's members permanently, or end the other", runbookRestored)
	switch id := r.GetOldClusterId(); {
	case id == "":
		return found
	case slices.Contains(r.GetSuperseded(), id):
		return of(bad, text+r.GetOldClusterAlive(), "it was ended, and its members halt once they hear it; stop those of an older program", runbookRestored)
	default:
		return found.by("snowraft cluster supersede " + id)
	}
}

// youngerCluster returns the finding about a cluster that was restored from a backup of this one.
func (f *facts) youngerCluster() []finding {
	for _, id := range keys(f.statuses) {
		if younger := f.statuses[id].GetYoungerClusterAlive(); younger != "" {
			return []finding{of(warning, "another cluster, restored from a backup of this one, runs, and issues nothing while this one runs: "+younger,
				"stop it, unless it is to take over; then end this cluster from there", runbookRestored)}
		}
	}
	return nil
}

// suspicion returns the finding about an open cluster whose members may have been set back.
func (f *facts) suspicion() []finding {
	for _, id := range keys(f.statuses) {
		if why := f.statuses[id].GetSetBackSuspected(); why != "" {
			return []finding{of(bad, "members may have been set back to an earlier state: "+why,
				"if they were, seal the cluster", runbookSetBack).by("snowraft cluster seal")}
		}
	}
	return nil
}

// layouts returns findings about layouts for which some member cannot issue IDs, and about layouts that end soon.
func (f *facts) layouts() (all []finding) {
	short := make(map[string][]string) // members without a worker, by layout
	failed := make(map[string]*snowraftv1.Lane)
	ends := make(map[string]int64)
	for _, m := range f.issuing {
		for _, l := range m.GetLanes() {
			switch l.GetReason() {
			case "", rpc.NoLeader, rpc.NotLeader, rpc.WindowEnded, rpc.CommitUnknown, rpc.Fenced: // other findings, or brief
			case rpc.WorkersExhausted:
				if !slices.Contains(short[l.GetLayout()], m.GetMember().GetName()) {
					short[l.GetLayout()] = append(short[l.GetLayout()], m.GetMember().GetName())
				}
			default:
				failed[l.GetLayout()] = l
			}
			if e := l.GetExhaustsAtMs(); e > 0 && e-f.GetComposedAtMs() < exhaustsSoon.Milliseconds() {
				ends[l.GetLayout()] = e
			}
		}
	}
	for _, layout := range keys(short) {
		all = append(all, of(warning, fmt.Sprintf("all workers of layout %q are held, and %s %s one", layout, list(short[layout]), verb(len(short[layout]), "needs", "need")),
			"use a layout with more worker bits, or stop holders", runbookWorkers).by("snowraft worker list --layout "+layout))
	}
	for _, layout := range keys(failed) {
		all = append(all, of(warning, fmt.Sprintf("layout %q: %s", layout, failed[layout].GetProblem()), "", runbookSymptoms))
	}
	for _, layout := range keys(ends) {
		all = append(all, of(warning, fmt.Sprintf("the time field of layout %q is full on %s", layout, time.UnixMilli(ends[layout]).UTC().Format(time.DateOnly)),
			"create a layout with a later epoch or more time bits", runbookLayoutEnds))
	}
	return all
}

// foreign returns findings about peers that members cannot understand.
func (f *facts) foreign() (all []finding) {
	seen := make(map[string]bool)
	for _, id := range keys(f.statuses) {
		for _, p := range f.statuses[id].GetForeignPeers() {
			if seen[p.GetAddress()] {
				continue
			}
			seen[p.GetAddress()] = true
			all = append(all, of(warning, fmt.Sprintf("%s hears a peer at %s that it cannot understand: %s", f.statuses[id].GetName(), p.GetAddress(), p.GetProblem()),
				"", runbookForeign).about(f.statuses[id].GetName()))
		}
	}
	return all
}

// moved returns findings about members whose hosts have other addresses than at their start.
func (f *facts) moved() (all []finding) {
	for _, id := range keys(f.statuses) {
		if s := f.statuses[id]; s.GetAddressProblem() != "" {
			all = append(all, of(warning, fmt.Sprintf("the address of %s changed: %s", s.GetName(), s.GetAddressProblem()),
				"restart "+s.GetName(), runbookMoved).about(s.GetName()).by("snowraft status"))
		}
	}
	return all
}

// secrets returns findings about a rotation of the cluster's secret that waits for members.
func (f *facts) secrets() []finding {
	known := f.own.GetSecretFingerprints()
	if len(known) == 0 || f.own.GetSigningFingerprint() == known[0] {
		return nil
	}
	var lack []string
	for _, m := range f.GetMembers() {
		s := f.statuses[m.GetMember().GetId()]
		if s == nil || !slices.Contains(s.GetSecretFingerprints(), known[0]) {
			lack = append(lack, m.GetMember().GetName())
		}
	}
	text := fmt.Sprintf("the new secret %s is not in use yet", known[0])
	if len(lack) > 0 {
		text += fmt.Sprintf(", because %s has not reported it", list(lack))
	}
	return []finding{of(warning, text, "give every member the same secret file", runbookSecret).by("snowraft secret list")}
}

// certificates returns findings about operators' certificates that end soon, and about files that members do not use.
func (f *facts) certificates() (all []finding) {
	for _, id := range keys(f.statuses) {
		s := f.statuses[id]
		c := s.GetCustomCertificate()
		if c == nil {
			continue
		}
		ends := time.UnixMilli(c.GetExpiresAtMs()).UTC().Format(time.DateOnly)
		switch left := c.GetExpiresAtMs() - f.GetComposedAtMs(); {
		case c.GetProblem() != "":
			all = append(all, of(warning, fmt.Sprintf("%s keeps its certificate until %s, because its files have a problem: %s", s.GetName(), ends, c.GetProblem()),
				"replace the files", runbookCertificate).about(s.GetName()).by("snowraft status"))
		case left < expiresSoon.Milliseconds():
			expires := "expires"
			if left <= 0 {
				expires = "expired"
			}
			all = append(all, of(warning, fmt.Sprintf("the certificate of %s %s on %s", s.GetName(), expires, ends),
				"replace its files", runbookCertificate).about(s.GetName()))
		}
	}
	return all
}

// upgrade returns findings about members of different versions, and about an upgrade that is not finalized.
func (f *facts) upgrade() (all []finding) {
	versions := make(map[string][]string)
	for _, m := range f.GetMembers() {
		if m.GetAnswers() {
			versions[m.GetMember().GetVersion()] = append(versions[m.GetMember().GetVersion()], m.GetMember().GetName())
		}
	}
	if len(versions) > 1 {
		var each []string
		for _, v := range keys(versions) {
			each = append(each, fmt.Sprintf("%s on %s", v, list(versions[v])))
		}
		all = append(all, of(good, "members run different versions: "+strings.Join(each, ", "), "", runbookUpgrade))
	}
	u := f.own.GetUpgrade()
	if u.GetNextFsmVersion() <= u.GetFsmVersion() {
		return all
	}
	text := fmt.Sprintf("an upgrade of the log's commands from version %d to %d is not finalized", u.GetFsmVersion(), u.GetNextFsmVersion())
	var found finding
	switch blockers := u.GetBlockers(); {
	case len(blockers) > 0:
		found = of(warning, fmt.Sprintf("%s: %s %s", text, cmp.Or(blockers[0].GetMemberName(), blockers[0].GetMemberId()), blockers[0].GetProblem()),
			"upgrade or start the members that block it", runbookUpgrade).by("snowraft upgrade")
	case u.GetUpgrades() == snowraftv1.Upgrades_UPGRADES_MANUAL:
		found = of(warning, text, "finalize it when no member will return to the older program", runbookUpgrade).by("snowraft upgrade finalize")
	default:
		found = of(good, text+"; the leader finalizes it within an hour", "", runbookUpgrade).by("snowraft upgrade")
	}
	return append(all, found)
}
