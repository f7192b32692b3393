package fsm

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestDigestCoversSequences changes one thing at a time.
func TestDigestCoversSequences(t *testing.T) {
	seen := map[[32]byte]string{sampleSequences(t).Digest(): "the sample"}
	covers := func(name string, edit func(*State)) {
		t.Helper()
		s := sampleSequences(t)
		edit(s)
		digest := s.Digest()
		if other, ok := seen[digest]; ok {
			t.Errorf("%s: the same digest as %s", name, other)
		}
		seen[digest] = name
	}
	for name, edit := range map[string]func(*sequence){
		"name":         func(q *sequence) { q.name += "x" },
		"created":      func(q *sequence) { q.created++ },
		"incarnation":  func(q *sequence) { q.incarnation++ },
		"generation":   func(q *sequence) { q.generation++ },
		"numbering":    func(q *sequence) { q.numbering-- },
		"base":         func(q *sequence) { q.base++ },
		"granted":      func(q *sequence) { q.granted++ },
		"last from":    func(q *sequence) { q.lastFrom++ },
		"last token":   func(q *sequence) { q.lastToken++ },
		"last key":     func(q *sequence) { q.lastKeyHash[0]++ },
		"low":          func(q *sequence) { q.used.low++ },
		"high":         func(q *sequence) { q.used.high++ },
		"hull":         func(q *sequence) { q.used.some = false },
		"period":       func(q *sequence) { q.period++ },
		"moved":        func(q *sequence) { q.stops = stopMoved },
		"start":        func(q *sequence) { q.spec.start++ },
		"increment":    func(q *sequence) { q.spec.increment++ },
		"min":          func(q *sequence) { q.spec.min++ },
		"max":          func(q *sequence) { q.spec.max-- },
		"mode":         func(q *sequence) { q.spec.mode++ },
		"reset":        func(q *sequence) { q.spec.reset++ },
		"block ms":     func(q *sequence) { q.spec.blockMillis++ },
		"min block":    func(q *sequence) { q.spec.minBlock++ },
		"max block":    func(q *sequence) { q.spec.maxBlock++ },
		"time zone":    func(q *sequence) { q.spec.timeZone += "x" },
		"format":       func(q *sequence) { q.spec.format += "x" },
		"description":  func(q *sequence) { q.spec.description += "x" },
		"another spec": func(q *sequence) { q.spec = compact(plain("x", numbers(5, 5, 5, 5))) },
	} {
		covers(name, func(s *State) {
			q, _ := s.sequences.live.Get("invoices")
			edit(q)
		})
	}
	covers("deleted", func(s *State) {
		q, _ := s.sequences.live.Delete("orders")
		s.sequences.deleted.Set("orders", q)
	})
	covers("a tombstone", func(s *State) { s.sequences.deleted.Delete("zebra") })
	for name, edit := range map[string]func(*answer){
		"sequence":    func(a *answer) { a.sequence += "x" },
		"incarnation": func(a *answer) { a.incarnation++ },
		"owner":       func(a *answer) { a.owner++ },
		"request":     func(a *answer) { a.request += "x" },
		"first":       func(a *answer) { a.block.First++ },
		"count":       func(a *answer) { a.block.Count++ },
		"increment":   func(a *answer) { a.block.Increment++ },
		"period":      func(a *answer) { a.block.Period++ },
		"at":          func(a *answer) { a.block.AtMillis++ },
		"generation":  func(a *answer) { a.block.Generation++ },
	} {
		covers("answer's "+name, func(s *State) { edit(&s.answers.queue[0]) })
	}
	covers("answers", func(s *State) { s.answers.gone++ })
}

// TestSnapshotRefusesSequencesThatNoStateWrites reads snapshots with correct checksums.
func TestSnapshotRefusesSequencesThatNoStateWrites(t *testing.T) {
	data := snapshotBytes(t, sampleSequences(t))
	type records = []*commandv1.SnapshotRecord
	// The records: meta, a member, the sequences invoices, orders, unused and zebra, two answers.
	const invoices, orders, unused, zebra, first = 2, 3, 4, 5, 6
	sequence := func(i int, edit func(*commandv1.SnapshotSequence)) func(records) records {
		return func(r records) records { edit(r[i].GetSequence()); return r }
	}
	answer := func(edit func(*commandv1.SnapshotAnswer)) func(records) records {
		return func(r records) records { edit(r[first].GetAnswer()); return r }
	}
	for name, edit := range map[string]func(r records) records{
		"sequences out of order":       func(r records) records { r[orders], r[unused] = r[unused], r[orders]; return r },
		"a sequence twice":             func(r records) records { return append(r[:4:4], r[3:]...) },
		"a sequence before the member": func(r records) records { r[1], r[2] = r[2], r[1]; return r },
		"a sequence after an answer":   func(r records) records { r[5], r[6] = r[6], r[5]; return r },
		"an answer before meta":        func(r records) records { return append(records{r[first]}, r...) },
		"a sequence before meta":       func(r records) records { return append(records{r[2]}, r...) },
		"answers out of order":         func(r records) records { return append(r, r[1]) },
		"a wrong spec":                 sequence(invoices, func(q *commandv1.SnapshotSequence) { q.Spec.Increment = 0 }),
		"a wrong mode":                 sequence(invoices, func(q *commandv1.SnapshotSequence) { q.Spec.Mode = 0 }),
		"huge blocks":                  sequence(invoices, func(q *commandv1.SnapshotSequence) { q.Spec.MaxBlock = 1 << 40 }),
		"no incarnation":               sequence(unused, func(q *commandv1.SnapshotSequence) { q.Incarnation = 0 }),
		"changed before it was":        sequence(unused, func(q *commandv1.SnapshotSequence) { q.Generation = q.GetIncarnation() - 1 }),
		"granted before it was":        sequence(invoices, func(q *commandv1.SnapshotSequence) { q.LastToken = q.GetGeneration() }),
		"numbered before it was":       sequence(unused, func(q *commandv1.SnapshotSequence) { q.Numbering = q.GetIncarnation() - 1 }),
		"numbered after its change":    sequence(unused, func(q *commandv1.SnapshotSequence) { q.Numbering = q.GetGeneration() + 1 }),
		"no date":                      sequence(invoices, func(q *commandv1.SnapshotSequence) { q.Period = 20251301 }),
		"a negative date":              sequence(invoices, func(q *commandv1.SnapshotSequence) { q.Period = -20250101 }),
		"no period":                    sequence(invoices, func(q *commandv1.SnapshotSequence) { q.Period = 0 }),
		"numbers beyond int64": sequence(orders, func(q *commandv1.SnapshotSequence) {
			q.Base = math.MaxInt64 - 198
			q.High = new(int64(math.MaxInt64))
		}),
		"a block without a key":    sequence(invoices, func(q *commandv1.SnapshotSequence) { q.LastKeyHash = nil }),
		"a short key":              sequence(invoices, func(q *commandv1.SnapshotSequence) { q.LastKeyHash = q.GetLastKeyHash()[1:] }),
		"a key without a block":    sequence(unused, func(q *commandv1.SnapshotSequence) { q.LastKeyHash = returnKeyHash }),
		"a block beyond":           sequence(orders, func(q *commandv1.SnapshotSequence) { q.LastFrom = 201 }),
		"an empty block":           sequence(invoices, func(q *commandv1.SnapshotSequence) { q.LastFrom = 10 }),
		"one end":                  sequence(unused, func(q *commandv1.SnapshotSequence) { q.Low = new(int64(1)) }),
		"the other end":            sequence(unused, func(q *commandv1.SnapshotSequence) { q.High = new(int64(1)) }),
		"ends the wrong way":       sequence(unused, func(q *commandv1.SnapshotSequence) { q.Low, q.High = new(int64(2)), new(int64(1)) }),
		"no hull":                  sequence(orders, func(q *commandv1.SnapshotSequence) { q.Low, q.High = nil, nil }),
		"a high too low":           sequence(orders, func(q *commandv1.SnapshotSequence) { q.High = new(q.GetHigh() - 1) }),
		"a low too high":           sequence(orders, func(q *commandv1.SnapshotSequence) { q.Low = new(q.GetLow() + 1) }),
		"a block within":           sequence(invoices, func(q *commandv1.SnapshotSequence) { q.High = new(q.GetHigh() + 1) }),
		"deleted, and has numbers": sequence(orders, func(q *commandv1.SnapshotSequence) { q.Deleted = true }),
		"deleted and never used":   sequence(unused, func(q *commandv1.SnapshotSequence) { q.Deleted = true; q.Generation++ }),
		"deleted at its creation":  sequence(zebra, func(q *commandv1.SnapshotSequence) { q.Generation = q.GetIncarnation() }),
		"deleted with a format":    sequence(zebra, func(q *commandv1.SnapshotSequence) { q.Spec.Format = "x" }),
		"deleted elsewhere":        sequence(zebra, func(q *commandv1.SnapshotSequence) { q.Base++ }),
		"an answer of no name":     answer(func(a *commandv1.SnapshotAnswer) { a.Sequence = "" }),
		"an answer of nothing":     answer(func(a *commandv1.SnapshotAnswer) { a.Incarnation = 0 }),
		"an answer too early":      answer(func(a *commandv1.SnapshotAnswer) { a.Incarnation++ }),
		"an answer without an ID":  answer(func(a *commandv1.SnapshotAnswer) { a.RequestId = nil }),
		"a long ID":                answer(func(a *commandv1.SnapshotAnswer) { a.RequestId = []byte(strings.Repeat("x", 65)) }),
		"no numbers":               answer(func(a *commandv1.SnapshotAnswer) { a.Count = 0 }),
		"too many numbers":         answer(func(a *commandv1.SnapshotAnswer) { a.Count = 1<<63 + 1 }),
		"no increment":             answer(func(a *commandv1.SnapshotAnswer) { a.Increment = 0 }),
		"answers beyond int64":     answer(func(a *commandv1.SnapshotAnswer) { a.First = math.MaxInt64 }),
		"an answer on no date":     answer(func(a *commandv1.SnapshotAnswer) { a.Period = 1 }),
		"an answer too old":        answer(func(a *commandv1.SnapshotAnswer) { a.Generation = a.GetIncarnation() - 1 }),
		"an answer too new":        answer(func(a *commandv1.SnapshotAnswer) { a.Generation += 1000 }),
		"an answer before 1970":    answer(func(a *commandv1.SnapshotAnswer) { a.IssuedAtMs = -1 }),
	} {
		if s, err := ReadState(bytes.NewReader(reseal(t, data, edit)), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}
