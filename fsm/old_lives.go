package fsm

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/names"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// livesVersion is the fsm_version from which a state knows the members of the earlier cluster and the clusters that ended.
const livesVersion = 2

// maxOldMemberText is the greatest length of a name or an address, in bytes: that of the messages in which members send them.
const maxOldMemberText = 512

// supersede records the operator's word that an earlier life of this cluster, or a sibling, ended. Repeating it changes nothing.
func (s *State) supersede(e entry) Result {
	id := e.cmd.GetSupersede().GetCluster()
	switch err := names.Check("cluster ID", id); {
	case err != nil:
		return Result{Err: invalid("%v", err)}
	case s.restored == nil:
		return Result{Err: invalid("this cluster was not restored; it supersedes no other")}
	case slices.Contains(s.restored.GetSuperseded(), id):
		return Result{}
	case len(s.restored.GetSuperseded()) == maxSuperseded:
		return Result{Err: invalid("%d clusters were superseded already, which is the limit", maxSuperseded)}
	}
	next := proto.CloneOf(s.restored)
	next.Superseded = append(next.Superseded, id)
	s.setRestored(next)
	return Result{}
}

// oldMembers returns the members of the earlier cluster in ascending order of their IDs, at most maxOldMembers.
func (r Restoration) oldMembers() []*commandv1.OldMember {
	members := slices.Clone(r.OldMembers)
	slices.SortFunc(members, func(a, b *commandv1.OldMember) int { return cmp.Compare(a.GetId(), b.GetId()) })
	return members[:min(len(members), maxOldMembers)]
}

func checkOldMembers(members []*commandv1.OldMember) error {
	if len(members) > maxOldMembers {
		return fmt.Errorf("%d members of the earlier cluster, expected at most %d", len(members), maxOldMembers)
	}
	for i, m := range members {
		if err := checkMemberID(m.GetId()); err != nil {
			return err
		}
		for noun, text := range map[string]string{"name": m.GetName(), "Raft address": m.GetRaftAddress()} {
			if err := names.CheckText("earlier member: "+noun, text); err != nil {
				return err
			}
			if len(text) > maxOldMemberText {
				return fmt.Errorf("earlier member: %s of %d bytes, expected at most %d", noun, len(text), maxOldMemberText)
			}
		}
		if i > 0 && m.GetId() <= members[i-1].GetId() {
			return fmt.Errorf("earlier member %q is out of order", m.GetId())
		}
	}
	return nil
}
