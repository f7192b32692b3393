package fsm

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// snapshotDecoder builds a state from the records of a snapshot and checks each of them.
type snapshotDecoder struct {
	state    *State
	stage    stage
	layout   *layout // owner of the workers and grants that follow
	sequence string  // name of the last sequence; empty before the first
	ledger   ledgerDecoder

	tokenNames map[string]bool
}

// stage is the kind of the last record. It decides which kinds may follow.
type stage int

const (
	atStart stage = iota
	atMeta
	atLayout
	atPast
	atBackfill
	atWorker
	atGrant
	atRemoved
	atToken
	atTemplate
	atSequence
	atPeriod
	atFate
	atReservation
	atAnswer
	atLeadership
	atClock
)

// follows is the range of stages that each stage may follow.
var follows = [...]struct{ from, to stage }{
	atMeta:        {atStart, atStart},
	atLayout:      {atMeta, atGrant},
	atPast:        {atLayout, atLayout},
	atBackfill:    {atPast, atBackfill},
	atWorker:      {atLayout, atWorker},
	atGrant:       {atWorker, atGrant},
	atRemoved:     {atMeta, atRemoved},
	atToken:       {atMeta, atToken},
	atTemplate:    {atMeta, atTemplate},
	atSequence:    {atMeta, atReservation},
	atPeriod:      {atSequence, atFate},
	atFate:        {atPeriod, atFate},
	atReservation: {atPeriod, atReservation},
	atAnswer:      {atMeta, atAnswer},
	atLeadership:  {atMeta, atLeadership},
	atClock:       {atMeta, atClock},
}

// add adds a record of any kind except the end record.
func (r *snapshotDecoder) add(record *commandv1.SnapshotRecord) error {
	switch body := record.GetBody().(type) {
	case *commandv1.SnapshotRecord_Meta:
		return r.enterStage(atMeta, func() error { return r.meta(body.Meta) })
	case *commandv1.SnapshotRecord_Layout:
		return r.enterStage(atLayout, func() error { return r.addLayout(body.Layout) })
	case *commandv1.SnapshotRecord_Past:
		return r.enterStage(atPast, func() error { return r.addPast(body.Past) })
	case *commandv1.SnapshotRecord_Backfill:
		return r.enterStage(atBackfill, func() error { return r.addBackfill(body.Backfill) })
	case *commandv1.SnapshotRecord_Worker:
		return r.enterStage(atWorker, func() error { return r.addWorker(body.Worker) })
	case *commandv1.SnapshotRecord_Grant:
		return r.enterStage(atGrant, func() error { return r.addGrant(body.Grant) })
	case *commandv1.SnapshotRecord_RemovedMember:
		return r.enterStage(atRemoved, func() error { return r.addRemoved(body.RemovedMember.GetId()) })
	case *commandv1.SnapshotRecord_Token:
		return r.enterStage(atToken, func() error { return r.addToken(body.Token) })
	case *commandv1.SnapshotRecord_Template:
		return r.enterStage(atTemplate, func() error { return r.addTemplate(body.Template) })
	case *commandv1.SnapshotRecord_Sequence:
		return r.enterStage(atSequence, func() error { return r.addSequence(body.Sequence) })
	case *commandv1.SnapshotRecord_Period:
		return r.enterStage(atPeriod, func() error { return r.ledger.addPeriod(body.Period) })
	case *commandv1.SnapshotRecord_Fate:
		return r.enterStage(atFate, func() error { return r.ledger.addFate(body.Fate) })
	case *commandv1.SnapshotRecord_Reservation:
		return r.enterStage(atReservation, func() error { return r.ledger.addReservation(body.Reservation) })
	case *commandv1.SnapshotRecord_Answer:
		return r.enterStage(atAnswer, func() error { return r.addAnswer(body.Answer) })
	case *commandv1.SnapshotRecord_Leadership:
		return r.enterStage(atLeadership, func() error { return r.addLeadership(body.Leadership) })
	case *commandv1.SnapshotRecord_Clock:
		return r.enterStage(atClock, func() error { return r.addClock(body.Clock) })
	}
	return corrupt("it is empty")
}

// enterStage adds a record of the stage next, if next may follow the present stage.
func (r *snapshotDecoder) enterStage(next stage, add func() error) error {
	if may := follows[next]; r.stage < may.from || r.stage > may.to {
		return corrupt("it is out of order")
	}
	if next <= atSequence || next > atReservation {
		if err := r.ledger.finish(r.state); err != nil {
			return err
		}
	}
	r.stage = next
	return add()
}

func (r *snapshotDecoder) meta(m *commandv1.SnapshotMeta) error {
	if m.GetFsmVersion() < firstVersion || m.GetObservedClockAtMs() < 0 {
		return corrupt("fsm_version %d or observed clock %d is out of range", m.GetFsmVersion(), m.GetObservedClockAtMs())
	}
	if m.GetConfig() != nil {
		if err := checkConfig(m.GetConfig()); err != nil {
			return corrupt("it has %v", err)
		}
		if m.GetConfig().GetGeneration() == 0 {
			return corrupt("a configuration without a generation")
		}
		r.state.config = proto.CloneOf(m.GetConfig())
	}
	if err := r.addRestored(m.GetRestored()); err != nil {
		return err
	}
	if n := len(m.GetCodeSecret()); n == codeSecretBytes {
		r.state.codeSecret = new(CodeSecret(m.GetCodeSecret()))
	} else if n != 0 {
		return corrupt("a secret of codes of %d bytes, expected %d", n, codeSecretBytes)
	}
	if want := digestBytes(m.GetCheckpointIndex()); len(m.GetCheckpointDigest()) != want {
		return corrupt("a checkpoint digest of %d bytes, expected %d", len(m.GetCheckpointDigest()), want)
	}
	var digest [32]byte
	copy(digest[:], m.GetCheckpointDigest())
	r.state.lastCheckpoint = checkpointOf(m.GetCheckpointIndex(), digest)
	r.state.index = max(m.GetCheckpointIndex(), m.GetConfig().GetGeneration(), m.GetRestored().GetIndex())
	r.state.version = m.GetFsmVersion()
	r.state.observed, r.state.lowered = m.GetObservedClockAtMs(), m.GetLoweredClockAtMs()
	if l := r.state.lowered; l != 0 && (l <= r.state.observed || r.state.version < DocumentVersion) {
		return corrupt("the observed clock %d was lowered from %d", r.state.observed, l)
	}
	return r.addLineage(m)
}

func (r *snapshotDecoder) addLayout(m *commandv1.SnapshotLayout) error {
	made, err := specToLayout(m.GetSpec())
	if err == nil {
		err = made.CanLease(m.GetCreatedAtMs())
	}
	if err != nil {
		return corrupt("%v", err)
	}
	s := r.state
	if n := len(s.names); n == maxLayouts || n > 0 && s.names[n-1] >= made.Name() {
		return corrupt("layout %q is out of order, or one too many", made.Name())
	}
	r.layout = newLayout(made, m.GetCreatedAtMs())
	s.addLayout(r.layout)
	return nil
}

func (r *snapshotDecoder) addWorker(m *commandv1.SnapshotWorker) error {
	w := &r.layout.workers
	if number := uint64(w.count()); m.GetWorker() != number || number >= w.size {
		return corrupt("worker %d, expected %d of %d", m.GetWorker(), number, w.size)
	}
	nonceHash, process, err := r.checkHolding(m)
	switch {
	case err != nil:
		return err
	case m.GetFromTick() < 0 || m.GetFromTick() > m.GetHighWater() || m.GetHighWater() > r.layout.ticks:
		return corrupt("a window of ticks %d to %d, expected it within 0 to %d", m.GetFromTick(), m.GetHighWater(), r.layout.ticks)
	case m.GetFromTick() < r.layout.border():
		return corrupt("a window from tick %d on, in the past of the layout, which ends at %d", m.GetFromTick(), r.layout.border())
	case m.GetFromTick() == m.GetHighWater() && !m.GetReleased():
		return corrupt("an empty window at tick %d", m.GetFromTick())
	}
	if err := r.checkFenced(m); err != nil {
		return err
	}
	last := extension{m.GetExtensionId(), m.GetExtendedFromTick()}
	if last != (extension{}) && (last.id == 0 || m.GetReleased() || last.from <= m.GetFromTick() || last.from > m.GetHighWater()) {
		return corrupt("an extension %d of tick %d, expected one within the window", last.id, last.from)
	}
	w.append(worker{
		highWater: m.GetHighWater(), from: m.GetFromTick(), token: m.GetToken(),
		nonceHash: nonceHash, holder: m.GetHolder(), owner: m.GetOwner(), process: process, released: m.GetReleased(), extension: last,
	})
	return nil
}

func (r *snapshotDecoder) addGrant(m *commandv1.SnapshotGrant) error {
	nonceHash, process, err := r.checkHolding(m)
	if err != nil {
		return err
	}
	h := &r.layout.history
	switch {
	case m.GetWorker() >= uint64(r.layout.workers.count()):
		return corrupt("a grant of worker %d, which was never granted", m.GetWorker())
	case m.GetToken() <= h.lastToken() || len(h.entries) == maxHistory:
		return corrupt("a grant under fencing token %d is out of order, or one too many", m.GetToken())
	}
	h.add(GrantRecord{
		Worker: m.GetWorker(), Token: m.GetToken(), Holder: m.GetHolder(), Owner: m.GetOwner(), Process: process, NonceHash: nonceHash,
		From: m.GetFromTick(), Until: m.GetUntilTick(), GrantedMillis: m.GetGrantedAtMs(),
	})
	return nil
}

// checkHolding checks the holder, the owner, the process, the nonce hash and the token of a worker or a grant.
func (r *snapshotDecoder) checkHolding(m interface {
	GetToken() uint64
	GetWorker() uint64
	GetHolder() string
	GetOwner() uint64
	GetNonceHash() []byte
	GetProcess() *commandv1.HolderProcess
},
) (nonceHash [hashBytes]byte, process *Process, err error) {
	if err := checkHolding(m.GetOwner(), m.GetHolder()); err != nil {
		return nonceHash, nil, corrupt("%v", err)
	}
	if process, err = processOf(m.GetProcess()); err != nil {
		return nonceHash, nil, corrupt("%v", err)
	}
	if m.GetOwner() != 0 && m.GetWorker() >= r.layout.workers.common {
		return nonceHash, nil, corrupt("worker %d belongs to API token %d, but is reserved for members", m.GetWorker(), m.GetOwner())
	}
	nonceHash, ok := hashOf(m.GetNonceHash())
	if !ok || m.GetToken() == 0 {
		return nonceHash, nil, corrupt("a nonce hash of %d bytes, expected %d, or no token", len(m.GetNonceHash()), hashBytes)
	}
	return nonceHash, process, nil
}

func (r *snapshotDecoder) addRemoved(id string) error {
	if err := checkMemberID(id); err != nil {
		return corrupt("%v", err)
	}
	if len(r.state.removed) == maxRemoved || r.state.Removed(id) {
		return corrupt("removed member %q is listed twice, or exceeds the limit", id)
	}
	r.state.removed = append(r.state.removed, id)
	return nil
}

// finish makes the checks that need the whole snapshot and returns the state.
func (r *snapshotDecoder) finish(in *snapshotReader, end *commandv1.SnapshotEnd) (*State, error) {
	if err := in.end(); err != nil {
		return nil, err
	}
	if r.stage == atStart {
		return nil, corrupt("the snapshot is empty")
	}
	if err := r.ledger.finish(r.state); err != nil {
		return nil, err
	}
	if end.GetRecords() != in.sum.records || !bytes.Equal(end.GetDigest(), in.sum.hash.Sum(nil)) {
		return nil, corrupt("the snapshot has %d records, expected %d, or their digest is wrong", in.sum.records, end.GetRecords())
	}
	for _, name := range r.state.names {
		l := r.state.layouts[name]
		if (l.past != nil) != l.layout.Spec().Past {
			return nil, corrupt("layout %q lacks its past", name)
		}
		if err := l.index(); err != nil {
			return nil, err
		}
		r.state.index = max(r.state.index, l.history.lastToken())
		for number := range l.workers.count() {
			r.state.noteWindow(l, l.workers.highWater(number))
		}
	}
	// The state must give the bytes that it was read from. So a snapshot with another
	// spelling of the state, or with a part that reading forgot, fails here.
	if digest := r.state.Digest(); !bytes.Equal(digest[:], end.GetDigest()) {
		return nil, corrupt("the snapshot is not in canonical form, its state has digest %x, expected %x", digest, end.GetDigest())
	}
	return r.state, nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

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
