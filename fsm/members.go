package fsm

import "slices"

// maxRemoved is the greatest number of removed members that are remembered.
const maxRemoved = 1000

// Removed reports whether the member with that ID is among the last 1000 that were
// removed.
func (s *State) Removed(id string) bool { return slices.Contains(s.removed, id) }

// removeMember remembers that a member was removed. Repeating it changes nothing.
func (s *State) removeMember(e entry) Result {
	id := e.cmd.GetRemoveMember().GetId()
	if err := checkMemberID(id); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if s.Removed(id) {
		return Result{}
	}
	if len(s.removed) == maxRemoved {
		s.removed = slices.Delete(s.removed, 0, 1)
	}
	s.removed = append(s.removed, id)
	return Result{}
}
