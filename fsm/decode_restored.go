package fsm

import (
	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// addRestored adds the record of the restore, if there is one.
func (r *snapshotDecoder) addRestored(m *commandv1.Restored) error {
	if m == nil {
		return nil
	}
	if err := checkRestored(m); err != nil {
		return corrupt("%v", err)
	}
	r.state.restored = proto.CloneOf(m)
	return nil
}

// checkFenced checks that no worker is held under a token from before the restore, and that the windows granted since
// begin after the floor.
func (r *snapshotDecoder) checkFenced(w *commandv1.SnapshotWorker) error {
	index := r.state.restored.GetIndex()
	if w.GetToken() <= index {
		if index > 0 && !w.GetReleased() {
			return corrupt("worker %d is held under fencing token %d, from before the restore at %d", w.GetWorker(), w.GetToken(), index)
		}
		return nil
	}
	if fence := r.state.fence(r.layout); w.GetFromTick() < fence {
		return corrupt("worker %d has a window from tick %d on, below the floor's %d", w.GetWorker(), w.GetFromTick(), fence)
	}
	return nil
}
