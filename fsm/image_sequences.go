package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// walkSequences uses one message for all sequences, because there can be a million.
func (im image) walkSequences(visit func(*commandv1.SnapshotRecord)) {
	message := &commandv1.SnapshotSequence{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Sequence{Sequence: message}}
	for q, deleted := range im.sequences.all() {
		message.Spec, message.CreatedAtMs, message.Deleted = q.spec.message(q.name), q.created, deleted
		message.Incarnation, message.Generation, message.Period = q.incarnation, q.generation, q.period
		if message.Numbering = 0; q.numbering != q.generation {
			message.Numbering = q.numbering
		}
		message.Base, message.Granted, message.LastFrom, message.LastToken = q.base, q.granted, q.lastFrom, q.lastToken
		message.Code, message.Formats = q.code.message(), formatMessages(q.earlier())
		message.FormatsStated = q.formatsStated()
		message.Low, message.High, message.LastKeyHash, message.Spent, message.Moved = nil, nil, nil, q.spent, q.stops.moved()
		if q.lastToken != 0 {
			message.LastKeyHash = q.lastKeyHash[:]
		}
		if q.used.some {
			message.Low, message.High = new(q.used.low), new(q.used.high)
		}
		message.Ended, message.LateSince, message.OpenFrom = q.late.value().message()
		visit(record)
		q.ledger.walk(visit)
	}
}

func (im image) walkAnswers(visit func(*commandv1.SnapshotRecord)) {
	message := &commandv1.SnapshotAnswer{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Answer{Answer: message}}
	for i := range im.answers {
		a := &im.answers[i]
		message.Sequence, message.Incarnation, message.RequestId = a.sequence, a.incarnation, []byte(a.request)
		message.Owner = a.owner
		message.First, message.Count, message.Increment = a.block.First, a.block.Count, a.block.Increment
		message.Period, message.IssuedAtMs, message.Generation = a.block.Period, a.block.AtMillis, a.block.Generation
		visit(record)
	}
}
