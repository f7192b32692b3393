package fsm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The model of gapless sequences: applications reserve, confirm and void numbers through a log that repeats and delays their
// requests for any time, also beyond a restore. Operators take and resolve numbers, and change the settings. After each
// command the state has the fates of the books. In all lives together, no number that was drawn is drawn again, unless the
// same life has the word that it was never committed.

const ledgerName = "inv"

type ledgerWorld struct {
	source
	s     *State
	books *books
	life  int
	now   int64
	index uint64
	log   []*raft.Log

	spec   *commandv1.SequenceSpec
	sent   []*commandv1.Command // all requests, which may come again
	claims []Reservation        // all answers
	drawn  map[bookNumber]int   // the life that drew, or took, a number last

	backup []byte
	kept   *books
	since  int // length of the log at the backup
	before uint64
}

func newLedgerWorld(s source) *ledgerWorld {
	return &ledgerWorld{source: s, s: NewState(), life: 1, now: epoch + 100*livesHour, drawn: map[bookNumber]int{}}
}

func (w *ledgerWorld) day() int32 {
	if w.spec.GetReset_() == resetNone {
		return 0
	}
	day, _ := periodOf(Periods{Reset: resetDaily}, w.now)
	return day
}

func (w *ledgerWorld) run(steps int) error {
	w.spec = plain(ledgerName, accounted, numbers(1, 1, 1, int64(6+w.choose("max", 3))), resetting([]commandv1.SequenceReset{resetNone, resetDaily}[w.choose("reset", 2)]))
	w.spec.Reuse = w.choose("reuse", 3) > 0
	if w.spec.GetReset_() != resetNone && w.choose("late", 2) == 0 {
		w.spec.LateMs = 2 * 24 * livesHour
	}
	w.books = &books{
		reuse: w.spec.GetReuse(), max: w.spec.GetMax(), resets: w.spec.GetReset_() != resetNone, period: w.day(),
		late: w.spec.GetLateMs() > 0, open: w.day(),
		next: map[int32]int64{}, cut: map[int32]bool{}, fates: map[bookNumber]bookFate{}, keys: map[string]bookKey{},
	}
	for _, cmd := range []*commandv1.Command{raise(Version), create(w.spec, w.day())} {
		if r := w.apply(at(w.now, cmd)); r.Err != nil {
			return r.Err
		}
	}
	w.backUp()
	for range steps {
		if err := w.step(); err != nil {
			return err
		}
	}
	return w.again()
}

// again sends all requests again, in another order and twice.
func (w *ledgerWorld) again() error {
	all := slices.Concat(w.sent, w.sent)
	for i := range all {
		j := i + w.choose("order", len(all)-i)
		all[i], all[j] = all[j], all[i]
		if err := w.commit(proto.CloneOf(all[i])); err != nil {
			return err
		}
	}
	return nil
}

func (w *ledgerWorld) step() error {
	switch w.choose("action", 24) {
	case 0:
		w.now += []int64{1000, livesHour, 13 * livesHour}[w.choose("pass", 3)]
		w.apply(at(w.now, observe(false)))
		return nil
	case 1:
		w.backUp()
		return nil
	case 2:
		if w.choose("restore", 3) == 0 {
			return w.restore()
		}
	case 3:
		return w.configure()
	case 4, 5, 6, 7:
		if len(w.sent) > 0 {
			return w.commit(proto.CloneOf(w.sent[w.choose("late", len(w.sent))]))
		}
	}
	cmd := w.request()
	cmd.ClockAtMs = w.now
	w.sent = append(w.sent, cmd)
	if w.choose("lost", 8) == 0 {
		return nil
	}
	return w.commit(proto.CloneOf(cmd))
}

func (w *ledgerWorld) backUp() {
	w.backup, w.kept, w.since, w.before = mustBytes(w.s), w.books.clone(), len(w.log), w.index
}

func (w *ledgerWorld) key() string { return fmt.Sprint("key-", w.choose("key", 4)) }

// claim returns the claim of an answer, usually a late one, or a forged one.
func (w *ledgerWorld) claim() *commandv1.ReservationClaim {
	if len(w.claims) == 0 || w.choose("forged", 8) == 0 {
		return &commandv1.ReservationClaim{Key: w.key(), Reservation: 1 + uint64(w.choose("reservation", int(min(w.index, 1<<16)))), Attempt: 1}
	}
	recent := min(len(w.claims), 4)
	return claimOf(w.claims[len(w.claims)-1-w.choose("claim", recent)])
}

// number returns a number to take or to resolve, with its period.
func (w *ledgerWorld) number() (period int32, first int64, count uint64) {
	period, first, count = w.day(), int64(1+w.choose("first", 8)), uint64(1+w.choose("count", 3))
	if w.spec.GetReset_() != resetNone && w.choose("earlier", 3) == 0 {
		period, _ = periodOf(Periods{Reset: resetDaily}, w.now-24*livesHour)
	}
	return period, first, count
}

func (w *ledgerWorld) request() *commandv1.Command {
	q, _ := w.s.Sequence(ledgerName)
	period, first, count := w.number()
	switch w.choose("request", 12) {
	default:
		keys := []string{w.key()}
		if other := w.key(); w.choose("both", 4) == 0 && other != keys[0] {
			keys = append(keys, other)
		}
		cmd := reserveIn(ledgerName, q.Generation, w.day(), keys...)
		if w.spec.GetLateMs() > 0 && w.choose("late", 2) == 0 {
			cmd.GetReserveNumbers().OnlyPeriod = period
			cmd.GetReserveNumbers().OpenFrom, _ = periodOf(Periods{Reset: resetDaily}, w.now-2*24*livesHour)
		}
		return cmd
	case 0, 1, 2:
		return confirm(ledgerName, w.claim())
	case 3, 4, 5:
		cmd := void(ledgerName, "canceled", w.claim())
		if w.choose("never", 2) == 0 {
			return neverCommitted(cmd)
		}
		return cmd
	case 6:
		cmd := takeIn(ledgerName, q.Generation, period, first, count)
		if w.choose("silent", 2) == 0 {
			cmd.GetTakeNumbers().Reason = ""
		}
		return cmd
	case 7:
		return resolve(ledgerName, period, first, count, w.choose("used", 2) == 0)
	}
}

// configure changes whether numbers are reused.
func (w *ledgerWorld) configure() error {
	q, _ := w.s.Sequence(ledgerName)
	spec := proto.CloneOf(q.Spec)
	spec.Reuse = !spec.GetReuse()
	if r := w.apply(at(w.now, change(spec, q.Generation))); r.Err == nil {
		w.books.reuse = spec.GetReuse()
	} else if !w.books.frozen {
		return violated("update", "%v", r.Err)
	}
	return nil
}

func (w *ledgerWorld) apply(cmd *commandv1.Command) Result {
	w.index += uint64(1 + w.choose("gap", 2))
	cmd.Version = MinVersion(cmd)
	data, err := Encode(cmd)
	if err != nil {
		panic(err)
	}
	w.log = append(w.log, &raft.Log{Index: w.index, Type: raft.LogCommand, Data: data})
	return w.s.Apply(w.index, 1, cmd)
}

// expect returns the reason for which the books refuse a command, 0 for none, and what a reservation returns.
func (w *ledgerWorld) expect(cmd *commandv1.Command, b *books) (got []bookKey, reason commandv1.Refusal) {
	q, _ := w.s.Sequence(ledgerName)
	observed, now := w.s.Observed(), max(w.s.Observed(), cmd.GetClockAtMs())
	generation := max(cmd.GetReserveNumbers().GetGeneration(), cmd.GetTakeNumbers().GetGeneration())
	if b.frozen {
		return nil, frozen
	}
	if generation != 0 && (generation < q.Numbering || generation > q.Generation) {
		return nil, mismatchedGen
	}
	switch {
	case cmd.GetReserveNumbers() != nil:
		return b.reserve(cmd.GetReserveNumbers(), w.index+1, observed)
	case cmd.GetConfirmNumbers() != nil:
		return nil, b.settle(cmd.GetConfirmNumbers().GetClaims(), fateConfirmed, false, now, observed)
	case cmd.GetVoidNumbers() != nil:
		return nil, b.settle(cmd.GetVoidNumbers().GetClaims(), fateVoid, cmd.GetVoidNumbers().GetNeverCommitted(), now, observed)
	case cmd.GetTakeNumbers() != nil:
		return nil, b.take(cmd.GetTakeNumbers())
	default:
		return nil, b.resolve(cmd.GetResolveNumbers(), w.s.Restored() != nil)
	}
}

// commit applies a command and compares what it did with the books.
func (w *ledgerWorld) commit(cmd *commandv1.Command) error {
	after := w.books.clone()
	index := w.index
	want, reason := w.expect(cmd, after)
	r := w.apply(cmd)
	for i := range want {
		if want[i].reservation == index+1 { // the index had a gap
			want[i].reservation = r.Index
		}
	}
	for key, k := range after.keys {
		if k.reservation == index+1 && k.attempt == 1 && k.state == fateOpen {
			k.reservation = r.Index
			after.keys[key] = k
		}
	}
	got := commandv1.Refusal(0)
	if r.Err != nil {
		got = r.Err.Reason
	}
	if got != reason {
		return violated("reason", "%v: %v (%v), want %v", cmd, got, r.Err, reason)
	}
	if reason == 0 {
		w.books = after
	}
	for i, res := range r.Reservations {
		if k := want[i]; k.number != res.Number || k.period != res.Period || k.reservation != res.Reservation || k.attempt != res.Attempt || k.state != res.Fate {
			return violated("answer", "%v: %+v, want %+v", cmd, res, k)
		}
		if err := w.note(res, r.Index); err != nil {
			return err
		}
	}
	if c := cmd.GetTakeNumbers(); c != nil && reason == 0 {
		for n := range int64(c.GetCount()) {
			w.drawn[bookNumber{w.books.of(c.GetPeriod()), c.GetFirst() + n}] = w.life
		}
	}
	w.claims = append(w.claims, r.Reservations...)
	return w.books.compare(w.s, ledgerName)
}

// note notes a number that was drawn.
func (w *ledgerWorld) note(r Reservation, index uint64) error {
	if r.Reservation != index {
		return nil
	}
	at := bookNumber{r.Period, r.Number}
	if life, ok := w.drawn[at]; ok && life != w.life {
		return violated("number", "life %d draws %+v, which life %d drew", w.life, r, life)
	}
	w.drawn[at] = w.life
	return nil
}

// restore restores the backup, or the backup and the log since. The operator states the last number that was drawn of the
// period in which the sequence continues.
func (w *ledgerWorld) restore() error {
	s, err := ReadState(readerOf(w.backup), Version)
	if err != nil {
		return violated("backup", "%v", err)
	}
	b, whole := w.kept.clone(), w.choose("whole", 2) == 0
	if whole {
		replay := NewReplay(s, Version)
		for _, entry := range w.log[w.since:] {
			if err := replay.Apply(entry); err != nil {
				return violated("replay", "%v", err)
			}
		}
		if s, err = replay.State(); err != nil {
			return violated("replay", "%v", err)
		}
		reuse := w.books.reuse
		b.join(w.books)
		b.reuse = reuse
	}
	w.now += livesHour
	r := Restoration{
		Index: s.FirstIndex(w.index, w.now, w.now), NowMillis: w.now, OldCluster: fmt.Sprint("life-", w.life), OldEndedMillis: w.now,
		ZonesKept: true, Period: periodOf,
	}
	if err := s.Restore(r); err != nil {
		return violated("restore", "%v", err)
	}
	q, _ := s.Sequence(ledgerName)
	b.doubt(q.Period)
	if held, _ := s.sequences.live.Get(ledgerName); held != nil {
		b.skipped = s.skippedPeriod(held.spec)
	}
	w.s, w.books, w.index, w.life, w.log = s, b, r.Index, w.life+1, nil
	if err := w.books.compare(w.s, ledgerName); err != nil {
		return err
	}
	var last *int64
	for at := range w.drawn {
		if at.period == q.Period && (last == nil || at.number > *last) {
			last = new(at.number)
		}
	}
	if (whole || b.spent) && w.choose("knows", 2) == 0 {
		last = nil // the state has all numbers, or none of this period is drawn anymore
	}
	if result := w.apply(at(w.now, resume(ledgerName, q.Generation, last, 0))); result.Err != nil {
		return violated("resume", "%v", result.Err)
	}
	if err := w.resumePeriods(); err != nil {
		return err
	}
	now, _ := w.s.Sequence(ledgerName)
	w.spec, w.books.resets = now.Spec, now.Spec.GetReset_() != resetNone
	w.books.resume(last)
	w.backUp()
	return w.books.compare(w.s, ledgerName)
}

// resumePeriods opens some of the ended periods after their last numbers.
func (w *ledgerWorld) resumePeriods() error {
	for period := range w.books.cut {
		if !w.books.cut[period] || w.choose("resume", 2) == 0 {
			continue
		}
		q, _ := w.s.Sequence(ledgerName)
		last := w.books.first(period) - 1
		for at := range w.drawn {
			if at.period == period {
				last = max(last, at.number)
			}
		}
		cmd := at(w.now, resume(ledgerName, q.Generation, &last, 0))
		cmd.GetResumeSequence().Period = period
		if r := w.apply(cmd); r.Err != nil {
			if w.books.late && period >= w.books.open && period < w.books.period {
				return violated("resume", "%v", r.Err)
			}
			continue
		}
		w.books.fill(period, last+1)
		w.books.cut[period] = false
	}
	return nil
}

func mustBytes(s *State) []byte {
	var file sink
	if _, err := s.WriteTo(&file); err != nil {
		panic(err)
	}
	return file.Bytes()
}

func walkLedger(seed uint64) (*ledgerWorld, error) {
	w := newLedgerWorld(seeded{rand.New(rand.NewPCG(seed, 2))})
	return w, w.run(60 + int(seed%4)*30)
}

func TestLedgerModel(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		d := drawn{t}
		if err := newLedgerWorld(d).run(8 + d.choose("steps", 64)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLedgerSeeds(t *testing.T) {
	t.Parallel()
	if *walkSeed != 0 {
		if _, err := walkLedger(*walkSeed); err != nil {
			t.Fatal(err)
		}
		return
	}
	for seed := uint64(1); seed <= uint64(depth.Of(depth.Little(100, 300), 5000)); seed++ {
		if _, err := walkLedger(seed); err != nil {
			t.Fatalf("%v\nagain: go test ./fsm -run TestLedgerSeeds -fsm.seed %d", err, seed)
		}
	}
}
