package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// workloadDocuments is the workload with the documents.
const workloadDocuments = "documents"

// Documents checks the numbers of documents, over all lives. It fails if
//
//   - a text was issued twice under one name, or two numbers of a name have the same text;
//   - a number was reserved twice, unless its sequence reuses void numbers, no restore was between, and the first holder said that
//     the number is void and can never be committed;
//   - a key got another number while its first one was not void;
//   - a reservation was both confirmed and void, or a number both taken and reserved;
//   - a key was reported as confirmed that has no document in the database;
//   - a new number of a reservation is in another period than the requested one;
//   - a text was read back as another number, or as one that was not granted;
//   - an ID of an imported row has another time or worker, or does not ascend;
//   - at the end, a number up to the last one of a period has no fate, or its fate differs from the row in the database.
//
// Without the final accounts, the run is invalid, and so is a run in which too little happened, see documentFloors.
func Documents(r *Run) Verdict {
	v := newVerdict("documents")
	if slices.Contains(r.Header.Workloads, workloadDocuments) {
		if err := r.judgeDocuments(v); err != nil {
			v.invalid("%v", err)
		}
	}
	v.Summary = fmt.Sprintf("%d texts of late numbers, tenants and codes; %d texts read back; %d numbers reserved, of which %d were late and %d reused; "+
		"%d documents, %d void numbers, %d taken; %d settled by reconcile loops, %d resolved after restores; %d rows imported by %d jobs; "+
		"%d crashes of applications; %d periods: %d failures",
		v.Facts["texts"], v.Facts["decoded"], v.Facts["reserved"], v.Facts["reserved_late"], v.Facts["reused"], v.Facts["documents"], v.Facts["void"],
		v.Facts["taken"], v.Facts["reconciled"], v.Facts["resolved"], v.Facts["backfilled"], v.Facts["jobs"], v.Facts["crashes"], v.Facts["periods"],
		v.Facts[factFailures])
	return *v
}

func (r *Run) judgeDocuments(v *Verdict) error {
	b := newBooks(r, v)
	for line, err := range history.Lines(r.Dir) {
		if err != nil {
			return err
		}
		b.add(line)
	}
	for _, n := range r.Notes {
		if n.What == history.NoteCrash {
			v.Facts["crashes"]++
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(b.held), comparePlaces) {
		b.judgePlace(at, b.held[at])
	}
	for _, all := range b.byKey {
		b.judgeKey(all)
	}
	for at, op := range b.texts {
		if other := b.byText[[2]string{at.sequence, op.Text}]; other != at {
			v.fail("the numbers %v and %v have the same text %q", at, other, op.Text)
		}
	}
	for _, a := range b.accounts {
		b.judgeAccount(a)
	}
	b.judgeRows()
	b.judgeTexts()
	if err := r.judgeImports(v, b.batches); err != nil {
		return err
	}
	v.Facts["reserved"], v.Facts["periods"] = int64(len(b.held)), int64(len(b.accounts))
	for sequence, mode := range b.modes {
		if mode.Mode == history.ModeGapless && !slices.ContainsFunc(b.accounts, func(a history.Account) bool { return a.Sequence == sequence }) {
			v.invalid("sequence %q has no final account, because its numbers were not settled", sequence)
		}
	}
	documentFloors(v)
	return nil
}

// place identifies a number of a sequence.
type place struct {
	sequence, period string
	number           int64
}

func (p place) String() string {
	if p.period == "" {
		return fmt.Sprintf("%d of %q", p.number, p.sequence)
	}
	return fmt.Sprintf("%d of %q in %s", p.number, p.sequence, p.period)
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.period, b.period), cmp.Compare(a.number, b.number))
}

// books holds what clients said and learned about the numbers of documents.
type books struct {
	run      *Run
	v        *Verdict
	modes    map[string]history.Sequence
	texts    map[place]history.Op // the first answer with each number
	byText   map[[2]string]place  // keyed by sequence and text
	holdings map[holdingKey]*holding
	held     map[place][]*holding
	byKey    map[[2]string][]*holding // keyed by sequence and key
	taken    map[place]history.Op
	rows     map[place]history.Row
	byOrder  map[[2]string]place // keyed by sequence and key
	accounts []history.Account
	decoded  []history.Op
	latest   map[string]string     // latest period of each sequence
	jobs     map[jobKey]uint64     // operations that started backfill jobs
	batches  map[uint64]history.Op // batches of backfill jobs, keyed by ID
}

type holdingKey struct {
	sequence, key string
	reservation   uint64
}

// holding is a reservation of a number. Its operations are the first of each kind.
type holding struct {
	holdingKey
	at       place
	life     int
	answered history.Op // the first answer
	// confirmed and voided succeeded. released may have succeeded, and says that the number can never be committed; given may have
	// succeeded as well, and need not say so.
	confirmed, voided, released, given *history.Op
}

func newBooks(r *Run, v *Verdict) *books {
	return &books{
		run: r, v: v, modes: map[string]history.Sequence{}, texts: map[place]history.Op{}, byText: map[[2]string]place{},
		holdings: map[holdingKey]*holding{}, held: map[place][]*holding{}, byKey: map[[2]string][]*holding{}, taken: map[place]history.Op{},
		rows: map[place]history.Row{}, byOrder: map[[2]string]place{}, latest: map[string]string{}, jobs: map[jobKey]uint64{},
		batches: map[uint64]history.Op{},
	}
}

func (b *books) add(line history.Line) {
	switch {
	case line.Sequence != nil:
		b.modes[line.Sequence.Name] = *line.Sequence
	case line.Row != nil:
		b.addRow(*line.Row)
	case line.Account != nil:
		b.accounts = append(b.accounts, *line.Account)
	case line.Op != nil && line.Op.Workload == workloadDocuments:
		b.addOp(*line.Op)
	}
}

func (b *books) addRow(row history.Row) {
	at := place{row.Sequence, row.Period, row.Number}
	b.rows[at] = row
	if row.Key == "" {
		return
	}
	b.byOrder[[2]string{row.Sequence, row.Key}] = at
	if !row.Elsewhere {
		b.v.Facts["documents"]++
	}
}

func (b *books) addOp(op history.Op) {
	at := place{op.Key, op.Period, op.First}
	switch ok := op.Outcome == history.OK; op.Do {
	case history.DoText:
		if !ok {
			return
		}
		b.v.Facts["texts"]++
		b.countLate(at)
		if first, twice := b.texts[at]; twice {
			b.v.fail("the number %v was issued twice: to operations %d and %d", at, first.ID, op.ID)
		}
		b.text(at, op)
	case history.DoReserve:
		if ok {
			b.text(at, op)
			b.reserve(at, op)
			b.inPeriod(at, op)
		}
	case history.DoDecode:
		if ok {
			b.decoded = append(b.decoded, op)
		}
	case history.DoJob, history.DoBackfill:
		if ok {
			b.imports(op)
		}
	case history.DoConfirm, history.DoVoid, history.DoReconcile:
		if op.Outcome != history.Fail {
			b.settle(&op)
		}
	case history.DoTake:
		if ok {
			b.taken[at] = op
		}
	case history.DoResolve:
		if ok {
			b.v.Facts["resolved"]++
		}
	}
}

// text records the text of a number.
func (b *books) text(at place, op history.Op) {
	first, known := b.texts[at]
	switch {
	case !known:
		b.texts[at], b.byText[[2]string{at.sequence, op.Text}] = op, at
	case first.Text != op.Text:
		b.v.fail("the number %v has the text %q in operation %d, and %q in operation %d", at, first.Text, first.ID, op.Text, op.ID)
	}
}

// reserve records the answer to a reservation.
func (b *books) reserve(at place, op history.Op) {
	key := holdingKey{op.Key, op.Claim.Key, op.Claim.Reservation}
	h := b.holding(key)
	switch {
	case h.answered.ID == 0:
		h.at, h.answered, h.life = at, op, b.run.lifeOf(op.Start, op.Return)
		b.held[at] = append(b.held[at], h)
		name := [2]string{op.Key, op.Claim.Key}
		b.byKey[name] = append(b.byKey[name], h)
	case h.at != at:
		b.v.fail("reservation %d of key %q has the number %v in operation %d, and %v in operation %d",
			key.reservation, key.key, h.at, h.answered.ID, at, op.ID)
	}
	if op.Fate == history.FateConfirmed && h.confirmed == nil {
		h.confirmed = &op
	}
}

func (b *books) holding(key holdingKey) *holding {
	h := b.holdings[key]
	if h == nil {
		h = &holding{holdingKey: key}
		b.holdings[key] = h
	}
	return h
}

// settle records a confirmation or a void number, whose outcome may be unknown.
func (b *books) settle(op *history.Op) {
	h := b.holding(holdingKey{op.Key, op.Claim.Key, op.Claim.Reservation})
	first := func(at **history.Op) {
		if *at == nil || op.Call < (*at).Call {
			*at = op
		}
	}
	ok := op.Outcome == history.OK
	if op.Do == history.DoReconcile && ok {
		b.v.Facts["reconciled"]++
	}
	switch confirms := op.Do == history.DoConfirm || op.Fate == history.FateConfirmed; {
	case confirms && ok:
		first(&h.confirmed)
	case !confirms:
		first(&h.given)
		if op.Claim.Never {
			first(&h.released)
		}
		if ok {
			first(&h.voided)
		}
	}
}

// judgePlace judges the reservations of one number.
func (b *books) judgePlace(at place, all []*holding) {
	slices.SortFunc(all, func(x, y *holding) int { return cmp.Compare(x.reservation, y.reservation) })
	for i, h := range all {
		if h.confirmed != nil && h.voided != nil {
			b.v.fail("reservation %d of the number %v was both confirmed, in operation %d, and void, in operation %d",
				h.reservation, at, h.confirmed.ID, h.voided.ID)
		}
		if take, ok := b.taken[at]; ok {
			b.v.fail("the number %v was taken in operation %d, and reserved for key %q in operation %d", at, take.ID, h.key, h.answered.ID)
		}
		if i == 0 {
			continue
		}
		b.v.Facts["reused"]++
		why := ""
		switch before := all[i-1]; {
		case !b.modes[at.sequence].Reuses:
			why = "the sequence does not reuse numbers"
		case before.life != h.life:
			why = "the cluster was restored between"
		case before.released == nil || before.released.Call > h.answered.Return:
			why = "no caller said before that it can never be committed"
		default:
			continue
		}
		b.v.fail("the number %v was reserved for key %q in operation %d, and again for key %q in operation %d: %s",
			at, all[i-1].key, all[i-1].answered.ID, h.key, h.answered.ID, why)
	}
}

// judgeKey judges the reservations of one key. A key is forgotten an hour after its number was settled, by the cluster's clock.
func (b *books) judgeKey(all []*holding) {
	slices.SortFunc(all, func(x, y *holding) int { return cmp.Compare(x.reservation, y.reservation) })
	for i, h := range all[min(1, len(all)):] {
		before := all[i]
		given := before.given != nil && before.given.Call < h.answered.Return
		if !given && before.life == h.life && !b.run.faulty(familyClock, before.answered.Call, h.answered.Return) {
			b.v.fail("key %q of sequence %q got number %d in operation %d, and number %d in operation %d, although the first one was not void",
				h.key, h.sequence, before.at.number, before.answered.ID, h.at.number, h.answered.ID)
		}
	}
}
