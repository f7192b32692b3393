package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/snowflake"
)

func invoice(s *commandv1.SequenceSpec) {
	s.Mode, s.Reuse = commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS, true
}

func vouchers(s *commandv1.SequenceSpec) { s.Format, s.Max = "{code:base32:8}", 1<<40-1 }

func lateByADay(s *commandv1.SequenceSpec) {
	s.Reset_, s.LateMs = commandv1.SequenceReset_SEQUENCE_RESET_DAILY, 86_400_000
}

// newFeatures are calls, each of which needs commands of document numbers.
var newFeatures = []struct {
	name string
	call func(ctx context.Context, m *member.Member) error
}{
	{"a reset by week", creates(like(plain("weekly", strict), func(s *commandv1.SequenceSpec) { s.Reset_ = commandv1.SequenceReset_SEQUENCE_RESET_WEEKLY }))},
	{"a start of years", creates(like(plain("fiscal", strict), func(s *commandv1.SequenceSpec) {
		s.Reset_, s.YearStarts = commandv1.SequenceReset_SEQUENCE_RESET_YEARLY, 401
	}))},
	{"late numbers", creates(like(plain("late", strict), lateByADay))},
	{"a gapless sequence", creates(like(plain("gapless", strict), invoice))},
	{"codes", creates(like(plain("codes", strict), vouchers))},
	{"a template", func(ctx context.Context, m *member.Member) error {
		_, err := m.CreateTemplate(ctx, &commandv1.TemplateSpec{Pattern: "t/*", Settings: plain("", strict)}, false)
		return err
	}},
	{"a past", func(ctx context.Context, m *member.Member) error {
		spec := snowflake.Default().Spec()
		spec.Name, spec.Past = "past", true
		_, err := m.CreateLayout(ctx, spec)
		return err
	}},
}

func creates(spec *commandv1.SequenceSpec) func(ctx context.Context, m *member.Member) error {
	return func(ctx context.Context, m *member.Member) error {
		_, err := m.CreateSequence(ctx, spec, member.Force{})
		return err
	}
}

// While a member knows only earlier commands, every leader refuses the new features, and all else works. A member of the earlier
// version reads the snapshots of the others. After the upgrade, the features are accepted.
func TestDocumentsWaitForTheUpgrade(t *testing.T) {
	t.Parallel()
	const before = fsm.DocumentVersion - 1
	simulate(t, options{supported: []uint32{fsm.DocumentVersion, fsm.DocumentVersion, before}, finalize: 3 * time.Second, timing: eager}, func(w *world) {
		w.untilVersion(before)
		ctx := member.WithActor(w.Context(), anyone)
		leaders := 0
		for _, n := range w.nodes {
			w.until(recovery, n.name+" leads", func() bool {
				_, _ = w.leader().proc().member.Node().TransferLeadership(w.Context(), n.name)
				return w.leader() == n
			})
			for _, f := range newFeatures {
				err := f.call(ctx, n.proc().member)
				if e, ok := errors.AsType[*member.VersionError](err); !ok || e.Need != fsm.DocumentVersion || e.Have != before {
					t.Errorf("%s at %s: %v, want a VersionError", f.name, n.name, err)
				}
			}
			leaders++
			name := fmt.Sprint("old/", leaders)
			w.until(recovery, "an old feature works", func() bool { return creates(plain(name, strict))(ctx, w.leader().proc().member) == nil })
			w.untilAllIssue(recovery)
		}
		old := w.nodes[2]
		old.crash()
		w.untilAllIssue(recovery)
		w.commit(4000)
		w.pass(time.Minute)
		old.start()
		w.untilAllIssue(recovery) // reads a snapshot of a member that knows the new commands
		if err := old.stop(); err != nil {
			t.Error(err)
		}
		old.supported = fsm.DocumentVersion
		old.start()
		w.untilVersion(fsm.DocumentVersion)
		for _, f := range newFeatures {
			w.until(recovery, f.name+" is accepted", func() bool { return f.call(ctx, w.leader().proc().member) == nil })
		}
	})
}

// Leaders crash during calls about documents, which are repeated until they succeed. No text comes twice, a key keeps its number, and at
// the end all members have the same account, in which each number has the fate that its last caller gave it.
func TestDocumentsSurviveFailovers(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		call := func(m *member.Member, f func(ctx context.Context, m *member.Member) error) error {
			ctx, cancel := context.WithTimeout(member.WithActor(w.Context(), anyone), time.Second)
			defer cancel()
			return f(ctx, m)
		}
		succeeds := func(what string, f func(ctx context.Context, m *member.Member) error) {
			t.Helper()
			w.until(recovery, what, func() bool { return call(w.leader().proc().member, f) == nil })
		}
		w.untilVersion(fsm.DocumentVersion)
		for _, spec := range []*commandv1.SequenceSpec{
			like(plain("invoices", strict), invoice), like(plain("bills", strict), lateByADay), like(plain("vouchers", strict), vouchers),
		} {
			succeeds(spec.GetName()+" is created", creates(spec))
		}
		succeeds("a template is created", func(ctx context.Context, m *member.Member) error {
			_, err := m.CreateTemplate(ctx, &commandv1.TemplateSpec{Pattern: "t/*", Settings: plain("", strict)}, false)
			return err
		})
		ended := time.Now().AddDate(0, 0, -1).UTC().Format(time.DateOnly)
		succeeds("the end of an earlier period is stated", func(ctx context.Context, m *member.Member) error {
			_, err := m.NextOfPeriod(ctx, "bills", 1, member.PeriodRequest{Period: ended, From: new(int64(1)), RequestID: "first"})
			return err
		})

		seen := map[string]bool{"bills: 1": true}
		issued := func(name string, n member.Numbering, err error) error {
			if text := fmt.Sprintf("%s: %s", name, n.Append(nil, 0)); err == nil && seen[text] {
				t.Errorf("%s was issued twice", text)
			} else if err == nil {
				seen[text] = true
			}
			return err
		}
		const rounds = 24
		for round := range int64(rounds) {
			key, want := fmt.Sprint("order ", round), 1+(round+1)/2 // every second number is void, and reused by the next key
			var claim *commandv1.ReservationClaim
			steps := map[string]func(ctx context.Context, m *member.Member) error{
				"a key gets its number": func(ctx context.Context, m *member.Member) error {
					got, err := m.ReserveNumbers(ctx, "invoices", []string{key}, "")
					if err != nil {
						return err
					}
					if r := got[0]; r.Number != want {
						t.Errorf("%s has number %d, want %d", key, r.Number, want)
					} else {
						claim = &commandv1.ReservationClaim{Key: key, Reservation: r.Reservation.Reservation, Attempt: r.Attempt}
					}
					return nil
				},
				"a late number is issued": func(ctx context.Context, m *member.Member) error {
					n, err := m.NextOfPeriod(ctx, "bills", 1, member.PeriodRequest{Period: ended})
					return issued("bills", n, err)
				},
				"a code is issued": func(ctx context.Context, m *member.Member) error {
					n, err := m.NextAtLeader(ctx, "vouchers", 1, "")
					return issued("vouchers", n, err)
				},
				"a tenant begins": func(ctx context.Context, m *member.Member) error {
					name := fmt.Sprint("t/", round)
					if _, err := m.BeginSequence(ctx, name); err != nil {
						return err
					}
					n, err := m.NextAtLeader(ctx, name, 1, "")
					return issued(name, n, err)
				},
			}
			settle := func(ctx context.Context, m *member.Member) error {
				if round%2 == 0 {
					return m.ConfirmNumbers(ctx, "invoices", []*commandv1.ReservationClaim{claim})
				}
				return m.VoidNumbers(ctx, "invoices", []*commandv1.ReservationClaim{claim}, "canceled", true)
			}
			interrupted := func(f func(ctx context.Context, m *member.Member) error) {
				leader, done := w.leader(), make(chan struct{})
				m := leader.proc().member
				go func() {
					defer close(done)
					_ = call(m, f) // the outcome may be unknown
				}()
				w.pass(w.between(0, 60*time.Millisecond))
				leader.crash()
				<-done
			}
			for _, what := range slices.Sorted(maps.Keys(steps)) {
				if w.rng.IntN(4) == 0 {
					interrupted(steps[what])
				}
				succeeds(what, steps[what])
				w.startAll()
			}
			if w.rng.IntN(2) == 0 {
				interrupted(settle)
			}
			succeeds("a number is settled", settle)
			w.startAll()
		}
		w.untilAllIssue(recovery)
		w.until(recovery, "all members have the account", func() bool {
			for _, n := range w.nodes {
				equal := false
				n.proc().member.State().View(func(s *fsm.State) {
					a := s.Account("invoices", 0)
					equal = a.Confirmed == rounds/2 && a.Void == 1 && a.Open == 0 && a.Missing == 0 && a.Last == rounds/2+1
				})
				if !equal {
					return false
				}
			}
			return true
		})
	})
}
