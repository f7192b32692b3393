package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// yieldSequences uses one message for all sequences, as there can be a million.
func (im image) yieldSequences(yield func(*commandv1.SnapshotRecord) bool) bool {
	message := &commandv1.SnapshotSequence{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Sequence{Sequence: message}}
	for q, deleted := range im.sequences.all() {
		message.Spec, message.CreatedMs, message.Deleted = q.spec.message(q.name), q.created, deleted
		message.Incarnation, message.Generation, message.Period = q.incarnation, q.generation, q.period
		message.Base, message.Granted, message.LastFrom, message.LastToken = q.base, q.granted, q.lastFrom, q.lastToken
		message.Low, message.High = nil, nil
		if q.used.some {
			message.Low, message.High = new(q.used.low), new(q.used.high)
		}
		if !yield(record) {
			return false
		}
	}
	return true
}

func (im image) yieldAnswers(yield func(*commandv1.SnapshotRecord) bool) bool {
	message := &commandv1.SnapshotAnswer{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Answer{Answer: message}}
	for i := range im.answers {
		a := &im.answers[i]
		message.Sequence, message.Incarnation, message.RequestId = a.sequence, a.incarnation, []byte(a.request)
		message.First, message.Count, message.Increment = a.first, a.count, a.increment
		message.Period, message.AtMs, message.Generation = a.period, a.at, a.generation
		if !yield(record) {
			return false
		}
	}
	return true
}
