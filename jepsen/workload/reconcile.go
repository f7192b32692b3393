//go:build linux

package workload

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// reconcileAfter is the age from which the applications reconcile an open reservation.
	reconcileAfter = 1500 * time.Millisecond
	// noLater is the reservation in the void row of a number that a restore left unknown: no later reservation replaces the row.
	noLater = math.MaxInt64
)

// reconciles settles the numbers of processes that crashed, and those that a restore left unknown.
func (s *shop) reconciles(ctx context.Context) {
	for history.Sleep(ctx, within(200*time.Millisecond, time.Second)) {
		for _, sequence := range gapless {
			s.reconcile(ctx, sequence, reconcileAfter)
			s.resolve(ctx, sequence)
		}
	}
}

// reconcile settles the open reservations of a sequence that are at least this old, by calls or with the loop of the product's client.
// It reports whether none is left.
func (s *shop) reconcile(ctx context.Context, sequence string, age time.Duration) (settled bool) {
	if rand.IntN(2) == 0 {
		return s.reconcileByLoop(ctx, sequence, age)
	}
	open, ok := s.list(ctx, sequence, age)
	if !ok {
		return false
	}
	for _, r := range open {
		at := place{sequence, r.GetPeriod(), r.GetNumber()}
		switch key, fate := s.judge(at, r.GetReservation()); {
		case fate == history.FateConfirmed && key == r.GetKey():
			s.confirm(ctx, at, *claimOf(r))
		case fate == history.FateVoid && !s.crashes("void row committed"):
			s.void(ctx, at, *claimOf(r))
		}
	}
	return len(open) == 0
}

// reconcileByLoop settles open reservations with the loop of the product's client. It records the decisions after the
// loop has returned: then each outcome is certain, unless the loop failed or was overtaken.
func (s *shop) reconcileByLoop(ctx context.Context, sequence string, age time.Duration) (settled bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlesWithin)
	defer cancel()
	var decided []history.Op
	done, err := s.own.Sequence(sequence).Reconcile(ctx, age, func(_ context.Context, r product.Reservation) (product.Resolution, error) {
		op := history.Op{
			ID: s.w.NextOp(), Workload: s.workload, Client: s.client.number, Do: history.DoReconcile, Key: sequence, Period: r.Period.String(),
			First: r.Number, Claim: &history.Claim{Key: r.Key, Reservation: r.Reservation, Attempt: r.Attempt}, Call: history.Now(),
		}
		key, fate := s.judge(place{sequence, op.Period, op.First}, r.Reservation)
		switch {
		case fate == history.FateConfirmed && key == r.Key:
		case fate == history.FateVoid:
			if s.crashes("void row committed") {
				return product.Resolution{}, errors.New("the application crashes")
			}
			op.Claim.Never = rand.IntN(3) > 0
		default:
			return product.Resolution{}, nil
		}
		op.Fate = fate
		decided = append(decided, op)
		if fate == history.FateConfirmed {
			return product.Resolution{Fate: product.FateConfirmed}, nil
		}
		return product.Resolution{Fate: product.FateVoid, Reason: "no document", NeverCommitted: op.Claim.Never}, nil
	})
	for _, op := range decided {
		if op.Return, op.Outcome = history.Now(), history.OK; err != nil || done.Overtaken > 0 {
			op.Outcome = history.Info
		}
		s.w.Journal.Add(history.Line{Op: &op})
	}
	return err == nil && done == product.Reconciled{}
}

// judge returns the fate of a number according to the database, and the key of its document. It commits a void row first, if there is no
// row. The fate is open if a transaction may still commit the number.
func (s *shop) judge(at place, reservation uint64) (key, fate string) {
	t, err := s.db.insert(at, row{reservation: reservation})
	switch {
	case errors.Is(err, errLocked):
		return "", history.FateOpen
	case err == nil:
		t.commit()
		return "", history.FateVoid
	}
	r, ok := s.db.row(at)
	switch {
	case !ok:
		return "", history.FateOpen
	case r.key == "":
		return "", history.FateVoid
	}
	return r.key, history.FateConfirmed
}

// list returns the first page of the open reservations of a sequence.
func (s *shop) list(ctx context.Context, sequence string, age time.Duration) ([]*snowraftv1.Reservation, bool) {
	m, ok := s.w.someone()
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	resp, err := s.of[m].ListReservations(ctx, &snowraftv1.ListReservationsRequest{Sequence: sequence, MinAgeMs: age.Milliseconds()})
	return resp.GetReservations(), err == nil
}

// resolve settles the numbers of a sequence that a restore left unknown. It reports whether none is left.
func (s *shop) resolve(ctx context.Context, sequence string) (settled bool) {
	accounts, ok := s.accounts(ctx, sequence)
	if !ok {
		return false
	}
	settled = true
	for _, a := range accounts {
		for _, run := range a.Runs {
			if run.Fate == history.FateUnknown {
				settled = false
				s.resolveNumbers(ctx, a, run.First, run.First+int64(run.Count))
			}
		}
		if last := s.db.last(sequence, a.Period); a.Cut && last > a.Last {
			settled = false
			s.resolveNumbers(ctx, a, a.Last+1, last+1)
		}
	}
	return settled
}

func (s *shop) resolveNumbers(ctx context.Context, a history.Account, from, until int64) {
	for n := from; n < until; n++ {
		at := place{a.Sequence, a.Period, n}
		_, fate := s.judge(at, noLater)
		req := &snowraftv1.ResolveNumbersRequest{Sequence: a.Sequence, Period: a.Period, Number: n}
		switch fate {
		case history.FateConfirmed:
			req.Fate = snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED
		case history.FateVoid:
			req.Fate, req.Reason = snowraftv1.NumberFate_NUMBER_FATE_VOID, "lost with the old cluster"
		default:
			continue
		}
		s.request(ctx, history.Op{Do: history.DoResolve, Key: a.Sequence, Period: a.Period, First: n, Count: 1, Fate: fate},
			func(ctx context.Context, c snowraftv1.ReservationServiceClient, _ *history.Op, opts ...grpc.CallOption) error {
				_, err := c.ResolveNumbers(ctx, req, opts...)
				return err
			})
	}
}

// account returns the account of a period without its runs; of the current period if period is empty.
func (s *shop) account(ctx context.Context, sequence, period string) (a history.Account, ok bool) {
	m, ok := s.w.someone()
	if !ok {
		return a, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	resp, err := s.of[m].AuditPeriod(ctx, &snowraftv1.AuditPeriodRequest{Sequence: sequence, Period: period, PageSize: 1})
	return accountOf(sequence, resp.GetSummary()), err == nil
}

// accounts returns the accounts of all periods of a sequence, with their runs.
func (s *shop) accounts(ctx context.Context, sequence string) (all []history.Account, ok bool) {
	m, ok := s.w.someone()
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	resp, err := s.of[m].ListPeriods(ctx, &snowraftv1.ListPeriodsRequest{Sequence: sequence})
	if err != nil {
		return nil, false
	}
	for _, summary := range resp.GetPeriods() {
		a, err := s.audit(ctx, m, sequence, summary.GetPeriod())
		if err != nil {
			return nil, false
		}
		all = append(all, a)
	}
	return all, true
}

// audit returns the account of a period with its runs.
func (s *shop) audit(ctx context.Context, m *lab.Member, sequence, period string) (a history.Account, err error) {
	req := &snowraftv1.AuditPeriodRequest{Sequence: sequence, Period: period, PageSize: 1000}
	for {
		resp, err := s.of[m].AuditPeriod(ctx, req)
		if err != nil {
			return a, err
		}
		runs := a.Runs
		a = accountOf(sequence, resp.GetSummary())
		for _, n := range resp.GetNumbers() {
			runs = append(runs, history.Numbers{First: n.GetNumber(), Count: n.GetCount(), Fate: fateOf(n.GetFate())})
		}
		a.Runs = runs
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return a, nil
		}
	}
}

func accountOf(sequence string, p *snowraftv1.PeriodSummary) history.Account {
	a := history.Account{
		Sequence: sequence, Period: p.GetPeriod(), First: p.GetFirst(), Last: p.GetLast(), Confirmed: p.GetConfirmed(), Void: p.GetVoid(),
		Taken: p.GetTaken(), Open: p.GetOpen(), Unknown: p.GetUnknown(), Missing: p.GetMissing(), Cut: p.GetCut(),
	}
	if p == nil || p.Last == nil {
		a.First, a.Last = 0, -1
	}
	return a
}

// conclude settles all numbers after the load, and records the final rows and accounts.
func (s *shop) conclude(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settlesWithin)
	defer cancel()
	until := func(done func() bool) bool {
		for !done() {
			if !history.Sleep(ctx, tryEvery) {
				return false
			}
		}
		return true
	}
	if !until(func() bool { return s.settled(ctx) }) {
		return
	}
	s.db.record(s.w.Journal)
	for _, sequence := range gapless {
		var all []history.Account
		until(func() (ok bool) {
			all, ok = s.accounts(ctx, sequence)
			return ok
		})
		for _, a := range all {
			s.w.Journal.Add(history.Line{Account: &a})
		}
	}
}

// settled settles all open and unknown numbers, and reports whether there were none.
func (s *shop) settled(ctx context.Context) bool {
	return !slices.ContainsFunc(gapless, func(sequence string) bool {
		resolved, reconciled := s.resolve(ctx, sequence), s.reconcile(ctx, sequence, 0)
		return !resolved || !reconciled
	})
}
