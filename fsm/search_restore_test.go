package fsm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The exhaustive search over one name and its restores: every path of an old cluster, every backup on the way, also of
// a directory whose log continues beyond the committed commands, and then every possible action of an operator.

// seqStep is a node of a path, and the entry that led to it.
type seqStep struct {
	*seqNode
	entry *raft.Log
	took  bool // a block was granted
}

type restoreSearch struct {
	actions  []seqAction
	restored int
}

// follow extends a path of the old cluster and restores each backup of it.
func (s *restoreSearch) follow(path []seqStep, left int) error {
	if err := s.restoreAll(path); err != nil || left == 0 {
		return err
	}
	n, index := path[len(path)-1], uint64(len(path))
	for _, act := range s.actions {
		next := &seqNode{fsm: cloneState(n.fsm), ghosts: n.ghosts, blocks: n.blocks}
		cmd := act.cmd(next)
		cmd.Version = 1
		r := next.fsm.Apply(index, 0, cmd)
		if r.Err != nil {
			continue
		}
		if err := next.account(cmd, r); err != nil {
			return err
		}
		data, err := Encode(cmd)
		if err != nil {
			return err
		}
		step := seqStep{next, &raft.Log{Index: index, Type: raft.LogCommand, Data: data}, r.Block.Count > 0}
		if err := s.follow(append(slices.Clip(path), step), left-1); err != nil {
			return fmt.Errorf("%s, %w", act.name, err)
		}
	}
	return nil
}

// restoreAll takes each state on the path as the backup of a cluster that ended at the path's end, and the whole path
// as the log of a directory when the old cluster ended before.
func (s *restoreSearch) restoreAll(path []seqStep) error {
	end := len(path) - 1
	for at := range path {
		took := false
		for _, step := range path[at+1:] {
			took = took || step.took
		}
		if err := s.restore(path, cloneState(path[at].fsm), path[end], took); err != nil {
			return fmt.Errorf("backup after %d steps: %w", at, err)
		}
		if at == end {
			break
		}
		replay := NewReplay(cloneState(path[0].fsm), Version)
		for _, step := range path[1:] {
			if err := replay.Apply(step.entry); err != nil {
				return err
			}
		}
		covering, err := replay.State()
		if err != nil {
			return err
		}
		if err := s.restore(path, covering, path[at], false); err != nil {
			return fmt.Errorf("committed up to %d steps: %w", at, err)
		}
	}
	return nil
}

// restore restores a backup of a cluster that ended with a node. took says that blocks were granted after the backup.
func (s *restoreSearch) restore(path []seqStep, backup *State, end seqStep, took bool) error {
	s.restored++
	period := seqSearchPeriods[1]
	if end.ghosts[2] != 0 {
		period = seqSearchPeriods[2]
	}
	if err := backup.Restore(Restoration{
		Index: backup.FirstIndex(uint64(len(path)), 1, 1), NowMillis: 1, OldCluster: "old", OldEndedMillis: 1, ZonesKept: true,
		Period: func(string, commandv1.SequenceReset, int64) (int32, error) { return period, nil },
	}); err != nil {
		return err
	}
	n := &seqNode{fsm: backup, ghosts: end.ghosts}
	if err := s.refuseAll(n); err != nil {
		return err
	}
	page := backup.Frozen("", 1)
	if len(page) == 0 {
		return nil
	}
	q, attested := page[0], []*int64{}
	if last, some := end.last(q); some {
		attested = append(attested, &last)
	}
	if !took || len(attested) == 0 {
		attested = append(attested, nil)
	}
	for _, last := range attested {
		if err := s.resumeAndGrant(n, q, last); err != nil {
			return err
		}
	}
	return nil
}

// refuseAll checks that nothing that the old cluster did can be done now.
func (s *restoreSearch) refuseAll(n *seqNode) error {
	for _, act := range s.actions {
		cmd := act.cmd(n)
		if r := n.fsm.Apply(n.fsm.index+1, 0, cmd); r.Err == nil {
			return violated("frozen", "%v was accepted: %+v", cmd, r)
		}
	}
	return nil
}

// resumeAndGrant resumes the sequence on a copy of the node, and grants all that it can.
func (s *restoreSearch) resumeAndGrant(from *seqNode, q Sequence, last *int64) error {
	resumed := cloneState(from.fsm)
	r := resumed.Apply(resumed.index+1, 0, resume("s", q.Generation, last, 0))
	if last != nil && r.Err != nil && r.Err.Reason == wouldRepeats {
		return nil // the backup knows of more, which the old cluster took back or did not commit
	}
	if r.Err != nil {
		return violated("resume", "%v of %+v: %v", last, q, r.Err)
	}
	creations := []*commandv1.Command{nil}
	if q.Deleted {
		creations = creations[:0]
		for _, spec := range seqSearchSpecs {
			for p, period := range seqSearchPeriods {
				if (p == 0) == (spec.GetReset_() == resetNone) {
					creations = append(creations, create(spec, period))
				}
			}
		}
	}
	for _, creation := range creations {
		n := &seqNode{fsm: cloneState(resumed), ghosts: from.ghosts}
		if creation != nil && n.fsm.Apply(n.fsm.index+1, 0, creation).Err != nil {
			continue
		}
		for _, period := range seqSearchPeriods {
			cmd := allocate("s", n.generation(), 100, period)
			r := n.fsm.Apply(n.fsm.index+1, 0, cmd)
			if r.Err != nil {
				continue
			}
			if err := n.take(r.Block); err != nil {
				return fmt.Errorf("resumed after %v: %w", last, err)
			}
		}
	}
	return nil
}

// last returns the last number that was granted in the period of a sequence, or in any if it has none.
func (n *seqNode) last(q Sequence) (last int64, some bool) {
	mask := n.ghosts[0] | n.ghosts[1] | n.ghosts[2]
	if q.Spec.GetReset_() != resetNone {
		mask = 0
		for i, period := range seqSearchPeriods {
			if period == q.Period {
				mask = n.ghosts[i]
			}
		}
	}
	if last = math.MinInt64; q.Spec.GetIncrement() < 0 {
		last = math.MaxInt64
	}
	for number := range int64(8) {
		if mask&(1<<number) != 0 {
			if some = true; q.Spec.GetIncrement() > 0 {
				last = max(last, number)
			} else {
				last = min(last, number)
			}
		}
	}
	return last, some
}

func TestRestoreSearch(t *testing.T) {
	depth := *searchDepth - 4
	s := &restoreSearch{actions: seqActions()}
	err := s.follow([]seqStep{{seqNode: &seqNode{fsm: NewState()}}}, depth)
	t.Logf("%d restores within %d steps", s.restored, depth)
	if err != nil {
		t.Fatal(err)
	}
}
