package fsm

import commandv1 "github.com/snowraft/snowraft/proto/command/v1"

// Refutation returns the refusal of a claim to a window or a block that this state contradicts for good: the fencing token is at
// most the index of this state, so no later entry can make the claim true. It returns nil for every other command. A leader
// does not propose such a claim, so a caller cannot fill the log with them.
func (s *State) Refutation(cmd *commandv1.Command) *Refused {
	switch c := cmd.GetBody().(type) {
	case *commandv1.Command_ExtendWindow:
		return s.refuteWindow(c.ExtendWindow.GetLayout(), c.ExtendWindow)
	case *commandv1.Command_ReleaseWorker:
		return s.refuteWindow(c.ReleaseWorker.GetLayout(), c.ReleaseWorker)
	case *commandv1.Command_ReturnBlock:
		if q, refused := s.sequences.named(c.ReturnBlock.GetName()); refused == nil && c.ReturnBlock.GetToken() <= s.index && !q.isLast(c.ReturnBlock) {
			return q.notLast(c.ReturnBlock)
		}
	}
	return nil
}

func (s *State) refuteWindow(name string, c claim) *Refused {
	if l, unknown := s.layoutNamed(name); unknown == nil && c.GetToken() <= s.index {
		_, refused := l.held(c)
		return refused
	}
	return nil
}
