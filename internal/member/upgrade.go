package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/events"
)

// ErrUpgradeBlocked reports that some member keeps an upgrade from being finalized.
var ErrUpgradeBlocked = errors.New("upgrade blocked")

// Upgrade is the state of an upgrade: the fsm_version in use, and the version that the servers of the Raft configuration
// know.
type Upgrade struct {
	// Used is the fsm_version in use. It never decreases.
	Used uint32
	// Next is the newest version that all servers know, except the blockers; Used if no server knows a newer one.
	Next uint32
	// Blockers lists the servers that keep the version from rising to Next.
	Blockers []UpgradeBlocker
	// DueAtMillis is the time at which this leader raises the version to Next, in Unix ms; 0 if it will not, and on a
	// member that does not lead.
	DueAtMillis int64
}

// UpgradeBlocker is a server without which the version cannot be raised.
type UpgradeBlocker struct {
	cluster.Member
	Problem string // a predicate for people, such as "is not alive"
}

// upgradeOf returns the state of an upgrade, given the servers of the Raft configuration. A server that gossip does not
// reach blocks, because it may come back with an older program than before.
func upgradeOf(used uint32, servers []cluster.Member) Upgrade {
	u := Upgrade{Used: used, Next: math.MaxUint32}
	newer := false
	for _, s := range servers {
		switch {
		case !s.Alive:
			u.block(s, "is not alive")
		case s.Commands == 0:
			u.block(s, "has not reported which commands it knows")
		case s.Commands <= used:
			u.block(s, fmt.Sprintf("knows commands up to %d", s.Commands))
		default:
			newer = true
			u.Next = min(u.Next, s.Commands)
		}
	}
	if !newer {
		return Upgrade{Used: used, Next: used}
	}
	return u
}

func (u *Upgrade) block(s cluster.Member, problem string) {
	u.Blockers = append(u.Blockers, UpgradeBlocker{s, problem})
}

// pending reports whether there is a version to raise to, blocked or not.
func (u *Upgrade) pending() bool { return u.Next > u.Used }

// free reports whether the version can be raised.
func (u *Upgrade) free() bool { return u.pending() && len(u.Blockers) == 0 }

// err returns an [ErrUpgradeBlocked] with all blockers; nil if there are none.
func (u *Upgrade) err() error {
	if len(u.Blockers) == 0 {
		return nil
	}
	var all []string
	for _, b := range u.Blockers {
		all = append(all, fmt.Sprintf("member %q %s", cmp.Or(b.Name, b.ID), b.Problem))
	}
	return fmt.Errorf("%w: %s; upgrade or start each of them, or omit it with --without", ErrUpgradeBlocked, strings.Join(all, ", "))
}

// Upgrade returns the state of an upgrade as this member sees it.
func (m *Member) Upgrade() Upgrade {
	u := upgradeOf(m.fsmVersion(), m.node.Members())
	if lt := m.leaderTerm.Load(); lt != nil && u.free() && m.raisesItself() {
		if left, ok := lt.upgrade.left(m.monotonic()); ok {
			u.DueAtMillis = m.clock.Now().Wall + left.Milliseconds()
		}
	}
	return u
}

// UpgradeAtLeader returns the state of an upgrade as the leader sees it; only the leader can.
func (m *Member) UpgradeAtLeader(ctx context.Context) (Upgrade, error) {
	u, _, err := atLeader(ctx, m, func(string) (Upgrade, bool) { return m.Upgrade(), true }, "")
	return u, err
}

// FinalizeUpgrade raises the fsm_version to the newest one that all servers know; only the leader can. It returns the
// version before and after, which are equal if no server knows a newer one. It omits the servers in without, given by ID
// or name. The error is an [ErrUpgradeBlocked] if another server does not know a newer version or is not alive, and a
// [cluster.ErrQuorum] if the servers that are not omitted have too few voters.
func (m *Member) FinalizeUpgrade(ctx context.Context, without []string) (from, to uint32, err error) {
	used, _, err := atLeader(ctx, m, func(string) (uint32, bool) { return m.fsmVersion(), true }, "")
	if err != nil {
		return 0, 0, err
	}
	servers, err := m.serversWithout(without)
	if err != nil {
		return 0, 0, err
	}
	u := upgradeOf(used, servers)
	if err := u.err(); err != nil || !u.pending() {
		return used, used, err
	}
	if err := m.raiseVersion(ctx, u); err != nil {
		return 0, 0, err
	}
	return used, u.Next, nil
}

// serversWithout returns the servers of the Raft configuration except those with the given IDs or names. It fails if the
// remaining voters are not enough for quorum.
func (m *Member) serversWithout(without []string) ([]cluster.Member, error) {
	out := make(map[string]bool)
	for _, name := range without {
		s, err := m.node.Member(name)
		if err != nil {
			return nil, err
		}
		if s.ID == m.node.ID() {
			return nil, fmt.Errorf("%w: member %q leads and cannot be omitted; transfer leadership first", ErrUpgradeBlocked, cmp.Or(s.Name, s.ID))
		}
		out[s.ID] = true
	}
	var rest []cluster.Member
	all := m.node.Members()
	for _, s := range all {
		if !out[s.ID] {
			rest = append(rest, s)
		}
	}
	if stay, need := cluster.QuorumOf(rest).Voters, cluster.QuorumOf(all).Needed(); stay < need {
		return nil, fmt.Errorf("%w: %d voters would remain, and quorum needs %d", cluster.ErrQuorum, stay, need)
	}
	return rest, nil
}

// raiseVersion finalizes an upgrade.
func (m *Member) raiseVersion(ctx context.Context, u Upgrade) error {
	_, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_RaiseVersion{
		RaiseVersion: &commandv1.RaiseVersion{Version: u.Next},
	}})
	if err == nil {
		m.logger.Info("upgrade finalized; members that know fewer commands can no longer start", "from", u.Used, "to", u.Next)
		m.events.Note(events.Administration, slog.LevelInfo, fmt.Sprintf("upgrade finalized: commands of version %d in use, after version %d", u.Next, u.Used))
	}
	return err
}

// raisesItself reports whether the leader finalizes upgrades automatically.
func (m *Member) raisesItself() bool {
	return m.fsm.ConfigValue().GetUpgrades() == commandv1.Upgrades_UPGRADES_AUTO
}

// monotonic returns this process's monotonic clock.
func (m *Member) monotonic() time.Duration {
	return time.Duration(m.clock.Now().Mono) * time.Millisecond
}
