package fsm

import (
	"iter"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// image is what the digest covers and a snapshot holds: the state without what can
// be derived from it. It is walked in one canonical order, so that equal states give
// equal bytes whatever their history.
type image struct {
	meta      *commandv1.SnapshotMeta
	layouts   []layoutImage // by name
	removed   []string      // oldest first
	sequences sequences
	answers   []answer // oldest first
}

type layoutImage struct {
	record  *commandv1.SnapshotLayout
	workers []worker
	history history
}

// image returns the state's image. It shares memory with the state.
func (s *State) image() image {
	im := image{
		meta: &commandv1.SnapshotMeta{
			FsmVersion:      s.version,
			ObservedClockMs: s.observed,
			Config:          s.config,
			CheckpointIndex: s.lastCheckpoint.index,
		},
		removed:   s.removed,
		sequences: s.sequences,
		answers:   s.answers.kept(),
	}
	if s.lastCheckpoint.index != 0 {
		im.meta.CheckpointDigest = slices.Clone(s.lastCheckpoint.digest[:])
	}
	for _, name := range s.names {
		l := s.layouts[name]
		im.layouts = append(im.layouts, layoutImage{
			record:  &commandv1.SnapshotLayout{Spec: LayoutSpec(l.layout.Spec()), CreatedMs: l.created},
			workers: l.workers.used,
			history: l.history,
		})
	}
	return im
}

// clone returns a copy that shares nothing with the state that can change, but for
// the sequences, which have a clone of their own. Answers are never changed.
func (im image) clone() image {
	im.layouts = slices.Clone(im.layouts)
	for i := range im.layouts {
		l := &im.layouts[i]
		l.workers = slices.Clone(l.workers)
		l.history = l.history.clone()
	}
	im.removed = slices.Clone(im.removed)
	return im
}

// records returns every record in canonical order: the meta record, each layout with
// its workers and then its grants, the removed members, the sequences, the answers. A
// record is good until the next one.
func (im image) records() iter.Seq[*commandv1.SnapshotRecord] {
	return func(yield func(*commandv1.SnapshotRecord) bool) {
		if !yield(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Meta{Meta: im.meta}}) {
			return
		}
		for i := range im.layouts {
			l := &im.layouts[i]
			record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Layout{Layout: l.record}}
			if !yield(record) || !l.yieldWorkers(yield) || !l.yieldGrants(yield) {
				return
			}
		}
		member := &commandv1.SnapshotRemovedMember{}
		record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_RemovedMember{RemovedMember: member}}
		for _, member.Id = range im.removed {
			if !yield(record) {
				return
			}
		}
		if im.yieldSequences(yield) {
			im.yieldAnswers(yield)
		}
	}
}

// yieldWorkers uses one message for all workers: there can be millions.
func (l *layoutImage) yieldWorkers(yield func(*commandv1.SnapshotRecord) bool) bool {
	message := &commandv1.SnapshotWorker{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Worker{Worker: message}}
	for number := range l.workers {
		k := &l.workers[number]
		message.Worker, message.HighWater, message.From, message.Token = uint64(number), k.highWater, k.from, k.token
		message.Holder, message.Nonce, message.Released = k.holder, k.nonce[:], k.released
		message.ExtensionId, message.ExtendedFrom = k.extension.id, k.extension.from
		if !yield(record) {
			return false
		}
	}
	return true
}

func (l *layoutImage) yieldGrants(yield func(*commandv1.SnapshotRecord) bool) bool {
	message := &commandv1.SnapshotGrant{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Grant{Grant: message}}
	for g := range l.history.all() {
		message.Worker, message.Token, message.Holder, message.Nonce = g.Worker, g.Token, g.Holder, g.Nonce[:]
		message.From, message.Until, message.GrantedMs = g.From, g.Until, g.GrantedMillis
		if !yield(record) {
			return false
		}
	}
	return true
}
