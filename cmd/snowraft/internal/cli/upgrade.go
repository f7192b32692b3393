package cli

import (
	"cmp"
	"fmt"
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Upgrade formats the state of an upgrade.
func Upgrade(u *snowraftv1.Upgrade) string {
	var blockers []string
	for _, b := range u.GetBlockers() {
		blockers = append(blockers, cmp.Or(b.GetMemberName(), b.GetMemberId()))
	}
	switch {
	case u.GetNextFsmVersion() <= u.GetFsmVersion():
		return "nothing to finalize"
	case len(blockers) > 0:
		return "blocked by " + strings.Join(blockers, ", ")
	case u.GetDueAtMs() != 0:
		return "finalized by the leader at " + Stamp(u.GetDueAtMs())
	case u.GetUpgrades() == snowraftv1.Upgrades_UPGRADES_MANUAL:
		return `waits for "snowraft upgrade finalize"`
	}
	return `finalized by the leader; see "snowraft upgrade"`
}

// Role formats a member's role in the cluster.
func Role(m *snowraftv1.Member) string {
	role := Word(m.GetRole())
	if m.GetLeader() {
		role += ", leader"
	}
	return role
}

// Commands formats the versions of log commands that a member uses and knows.
func Commands(s *snowraftv1.GetStatusResponse) string {
	text := fmt.Sprintf("%d in use, %d known", s.GetFsmVersion(), s.GetFsmVersionSupported())
	if u := s.GetUpgrade(); u.GetNextFsmVersion() > u.GetFsmVersion() {
		text += fmt.Sprintf("; upgrade to %d: %s", u.GetNextFsmVersion(), Upgrade(u))
	}
	return text
}
