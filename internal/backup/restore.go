package backup

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
)

// Restore holds the operator's statements about the cluster that a backup is from.
type Restore struct {
	NowMillis int64 // clock of this host; Unix ms
	// OldEndedMillis is the latest time that a clock of the old cluster showed, in Unix ms. No member proposed a command after
	// that time.
	OldEndedMillis int64
	// OldMaxWindow is the largest maximum window after the backup. The maximum window in the backup counts if it is larger.
	OldMaxWindow time.Duration
	// OldMaxClockOffset is the largest maximum clock offset after the backup. The offset in the backup counts if it is larger.
	OldMaxClockOffset time.Duration
	// ZonesKept reports that the time zone of no sequence changed after the backup.
	ZonesKept  bool
	KeepTokens bool // keep the API tokens and the rights of anonymous callers
}

// Restored describes the data directory of a new cluster's first member.
type Restored struct {
	Node, Cluster string // IDs of the new cluster's first member and of the new cluster
	Old           string // ID of the old cluster
	Index         uint64 // first index of the new cluster
	FloorMillis   int64  // Unix ms; no window begins before it
	IssuesMillis  int64  // Unix ms; from then on all layouts issue IDs, if the new cluster's clock is correct
	Frozen        int    // number of frozen sequences, deleted sequences included
	Templates     int    // number of suspended templates
	Pasts         int    // number of layouts whose past is closed
}

// unknownAddress stands for the Raft address of the new member, which the flags of its first start set. No process
// listens there.
const unknownAddress = "0.0.0.0:0"

// Into restores a backup into a data directory, which must be absent or hold no files of a member. It changes the backup's
// state, which must not be used afterwards.
func (r Restore) Into(dir string, b *Backup) (*Restored, error) {
	h := b.Header
	index := b.State.FirstIndex(h.GetIndex(), r.NowMillis, r.OldEndedMillis)
	err := b.State.Restore(fsm.Restoration{
		Index: index, NowMillis: r.NowMillis, OldCluster: h.GetClusterId(), OldMembers: oldMembers(h), OldEndedMillis: r.OldEndedMillis,
		MaxWindowMillis: max(h.GetMaxWindowMs(), r.OldMaxWindow.Milliseconds()), MaxOffsetMillis: max(h.GetMaxClockOffsetMs(), r.OldMaxClockOffset.Milliseconds()),
		ZonesKept: r.ZonesKept, KeepTokens: r.KeepTokens, Period: periodAt,
	})
	if err != nil {
		return nil, err
	}
	cluster := uuid.NewString()
	node, err := storage.Seed{
		Cluster: cluster, Index: index, Term: h.GetTerm() + 1, State: b.State,
		Address: func(node string) string { return node + "@" + unknownAddress },
	}.Create(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return &Restored{
		Node: node, Cluster: cluster, Old: h.GetClusterId(), Index: index,
		FloorMillis: b.State.Restored().GetFloorAtMs(), IssuesMillis: b.State.IssuesFrom(), Frozen: b.State.FrozenCount(),
		Templates: b.State.SuspendedTemplates(), Pasts: b.State.ClosedPasts(),
	}, nil
}

// oldMembers returns the members in a header, which the new cluster looks for.
func oldMembers(h *commandv1.BackupHeader) []*commandv1.OldMember {
	var members []*commandv1.OldMember
	for _, m := range h.GetMembers() {
		members = append(members, &commandv1.OldMember{Id: m.GetId(), Name: m.GetName(), RaftAddress: m.GetRaftAddress()})
	}
	return members
}

// periodAt returns the period of a sequence that contains a time.
func periodAt(p fsm.Periods, atMillis int64) (int32, error) {
	at, err := sequence.LoadLocation(p.TimeZone)
	if err != nil {
		return 0, fmt.Errorf("time zone %q: %w", p.TimeZone, err)
	}
	calendar := sequence.Calendar{Reset: resets[p.Reset], YearStarts: sequence.YearStart(p.YearStarts)} //nolint:gosec // the state machine has checked it
	return int32(calendar.PeriodAt(time.UnixMilli(atMillis).In(at))), nil
}

var resets = map[commandv1.SequenceReset]sequence.Reset{
	commandv1.SequenceReset_SEQUENCE_RESET_DAILY:     sequence.ResetDaily,
	commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY:    sequence.ResetWeekly,
	commandv1.SequenceReset_SEQUENCE_RESET_MONTHLY:   sequence.ResetMonthly,
	commandv1.SequenceReset_SEQUENCE_RESET_QUARTERLY: sequence.ResetQuarterly,
	commandv1.SequenceReset_SEQUENCE_RESET_YEARLY:    sequence.ResetYearly,
}
