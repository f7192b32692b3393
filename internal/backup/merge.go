package backup

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Merge returns a backup that covers several, for [Restore.Into]. They may have different histories, because members were set
// back. They must not be used afterwards. Merge fails if their cluster IDs differ, or for the reasons of [fsm.State.Merge].
func Merge(backups ...*Backup) (*Backup, error) {
	latest := slices.MaxFunc(backups, func(a, b *Backup) int {
		return cmp.Or(cmp.Compare(a.State.FSMVersion(), b.State.FSMVersion()), cmp.Compare(a.Header.GetIndex(), b.Header.GetIndex()))
	})
	h := proto.CloneOf(latest.Header)
	for _, b := range backups {
		if b == latest {
			continue
		}
		other := b.Header
		if other.GetClusterId() != h.GetClusterId() {
			return nil, fmt.Errorf("backups of two clusters, %s and %s; give those of one", h.GetClusterId(), other.GetClusterId())
		}
		if err := latest.State.Merge(b.State); err != nil {
			return nil, err
		}
		h.Index, h.Term, h.TakenAtMs = max(h.GetIndex(), other.GetIndex()), max(h.GetTerm(), other.GetTerm()), max(h.GetTakenAtMs(), other.GetTakenAtMs())
		h.MaxWindowMs = max(h.GetMaxWindowMs(), other.GetMaxWindowMs())
		h.MaxClockOffsetMs = max(h.GetMaxClockOffsetMs(), other.GetMaxClockOffsetMs())
		for _, m := range other.GetMembers() {
			if !slices.ContainsFunc(h.GetMembers(), func(known *commandv1.BackupMember) bool {
				return known.GetId() == m.GetId() && known.GetRaftAddress() == m.GetRaftAddress()
			}) {
				h.Members = append(h.Members, m)
			}
		}
	}
	return &Backup{Header: h, State: latest.State}, nil
}
