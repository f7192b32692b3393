package fsm

import (
	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// addLineage adds the parts of the lineage that are in the meta record, and the seal.
func (r *snapshotDecoder) addLineage(m *commandv1.SnapshotMeta) error {
	if m.GetFsmVersion() < LineageVersion {
		if m.GetIndex() != 0 || len(m.GetHash()) != 0 || m.GetSealed() != nil {
			return corrupt("a hash or a seal at fsm_version %d", m.GetFsmVersion())
		}
		return nil
	}
	if len(m.GetHash()) != nonceBytes {
		return corrupt("a hash of %d bytes, expected %d", len(m.GetHash()), nonceBytes)
	}
	r.state.lineage.hash = [nonceBytes]byte(m.GetHash())
	if m.GetIndex() < r.state.index {
		return corrupt("the last command at index %d, and a change at index %d", m.GetIndex(), r.state.index)
	}
	r.state.index = m.GetIndex()
	if sealed := m.GetSealed(); sealed != nil {
		if err := checkSeal(sealed); err != nil {
			return corrupt("%v", err)
		}
		r.state.sealed = proto.CloneOf(sealed)
	}
	return nil
}

func (r *snapshotDecoder) addLeadership(m *commandv1.SnapshotLeadership) error {
	l := &r.state.lineage
	nonce, ok := nonceOf(m.GetNonce())
	if last := l.last(); !ok || m.GetIndex() <= last.index || m.GetTerm() < last.term || len(l.leaderships) == maxLeaderships || r.state.version < LineageVersion {
		return corrupt("the leadership at index %d is out of order, or one too many, or has no nonce", m.GetIndex())
	}
	l.leaderships = append(l.leaderships, leadership{m.GetIndex(), m.GetTerm(), nonce})
	return nil
}

func (r *snapshotDecoder) addClock(m *commandv1.SnapshotClock) error {
	l := &r.state.lineage
	n := len(l.clocks)
	if len(m.GetHash()) != nonceBytes || n == maxClocks || n > 0 && l.clocks[n-1].index >= m.GetIndex() || r.state.version < LineageVersion {
		return corrupt("the hash at index %d is out of order, or one too many, or has %d bytes", m.GetIndex(), len(m.GetHash()))
	}
	l.clocks = append(l.clocks, clockHash{m.GetIndex(), [nonceBytes]byte(m.GetHash())})
	return nil
}
