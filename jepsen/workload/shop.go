//go:build linux

package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// shop is a set of application processes with one database. A process that crashes forgets everything, and its transaction is
// rolled back. The orders are kept, like the documents.
type shop struct {
	*client
	of  map[*lab.Member]snowraftv1.ReservationServiceClient
	own *product.Client // has the reconcile loop
	db  *database

	printed *printed

	mu      sync.Mutex
	count   int
	open    []order  // without a document, as far as a process knows
	periods []string // periods of invoices, ascending
}

// work takes an order, or one that was not completed before, and numbers its document. Several processes may work on one order.
func (s *shop) work(ctx context.Context) {
	o := s.order()
	if s.number(ctx, o) {
		s.close(o)
	}
}

func (s *shop) order() order {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 && rand.IntN(3) == 0 {
		return anyOf(s.open)
	}
	s.count++
	o := order{anyOf(gapless), fmt.Sprintf("order-%d", s.count)}
	s.open = append(s.open, o)
	return o
}

func (s *shop) close(o order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.open, o); i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// number follows the recipe: reserve, insert, commit, confirm. It reports whether no process needs to continue with the order.
func (s *shop) number(ctx context.Context, o order) (done bool) {
	if s.db.has(o) {
		return true
	}
	r := s.reserve(ctx, o)
	switch {
	case r.Outcome != history.OK:
		return false
	case r.Fate == history.FateConfirmed:
		return true
	}
	at := place{o.sequence, r.Period, r.First}
	s.think(ctx)
	if s.crashes("reserved") {
		return false
	}
	if rand.IntN(12) == 0 {
		return s.cancel(ctx, at, *r.Claim)
	}
	t, err := s.db.insert(at, row{key: o.key, reservation: r.Claim.Reservation})
	if err != nil {
		return false // the number became void, or another process numbers the document
	}
	s.think(ctx)
	if s.crashes("inserted") {
		t.rollback()
		return false
	}
	t.commit()
	if s.crashes("committed") {
		return true
	}
	s.confirm(ctx, at, *r.Claim)
	if rand.IntN(10) == 0 {
		s.think(ctx)
		s.confirm(ctx, at, *r.Claim)
	}
	return true
}

// cancel gives up the number of an order. Another number may be reserved for the order later.
func (s *shop) cancel(ctx context.Context, at place, c history.Claim) (done bool) {
	t, err := s.db.insert(at, row{reservation: c.Reservation})
	if err != nil {
		return false
	}
	t.commit()
	if !s.crashes("void row committed") {
		s.void(ctx, at, c)
	}
	return rand.IntN(2) == 0
}

// think pauses, rarely for so long that the number is reconciled meanwhile.
func (s *shop) think(ctx context.Context) {
	switch rand.IntN(20) {
	case 0:
		history.Sleep(ctx, within(reconcileAfter/2, 4*reconcileAfter))
	case 1, 2, 3, 4:
		history.Sleep(ctx, within(0, 100*time.Millisecond))
	}
}

// crashes reports whether the process crashes after a step.
func (s *shop) crashes(after string) bool {
	if rand.IntN(20) > 0 {
		return false
	}
	s.w.Lab.Note("", history.NoteCrash, after)
	return true
}

// request sends a request to any member.
func (s *shop) request(ctx context.Context, op history.Op, do func(ctx context.Context, c snowraftv1.ReservationServiceClient, op *history.Op, opts ...grpc.CallOption) error) history.Op {
	m, ok := s.w.someone()
	if !ok {
		return history.Op{Outcome: history.Fail, Reason: notSent}
	}
	made, _ := s.call(ctx, m, op, func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
		return do(ctx, s.of[m], op, opts...)
	})
	return made
}

func (s *shop) reserve(ctx context.Context, o order) history.Op {
	only := s.earlier(o.sequence)
	op := s.request(ctx, history.Op{Do: history.DoReserve, Key: o.sequence, Claim: &history.Claim{Key: o.key}, Only: only},
		func(ctx context.Context, c snowraftv1.ReservationServiceClient, op *history.Op, opts ...grpc.CallOption) error {
			resp, err := c.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: o.sequence, Keys: []string{o.key}, Period: only}, opts...)
			if err == nil {
				answered(op, resp.GetReservations()[0])
			}
			return err
		})
	s.printed.add(op)
	s.note(op)
	return op
}

// note keeps the periods of invoices.
func (s *shop) note(op history.Op) {
	if op.Outcome != history.OK || op.Key != invoices {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, known := slices.BinarySearch(s.periods, op.Period); !known {
		s.periods = slices.Insert(s.periods, i, op.Period)
	}
}

// earlier returns an earlier period for some invoices; empty for the other documents.
func (s *shop) earlier(sequence string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sequence != invoices || len(s.periods) < 2 || rand.IntN(4) > 0 {
		return ""
	}
	return anyOf(s.periods[:len(s.periods)-1])
}

// answered completes an operation with a reservation of the answer.
func answered(op *history.Op, r *snowraftv1.Reservation) {
	op.First, op.Period, op.Text, op.Fate = r.GetNumber(), r.GetPeriod(), r.GetText(), fateOf(r.GetFate())
	op.Claim = claimOf(r)
}

func claimOf(r *snowraftv1.Reservation) *history.Claim {
	return &history.Claim{Key: r.GetKey(), Reservation: r.GetReservation(), Attempt: r.GetAttempt()}
}

func fateOf(f snowraftv1.NumberFate) string {
	return map[snowraftv1.NumberFate]string{
		snowraftv1.NumberFate_NUMBER_FATE_OPEN: history.FateOpen, snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED: history.FateConfirmed,
		snowraftv1.NumberFate_NUMBER_FATE_VOID: history.FateVoid, snowraftv1.NumberFate_NUMBER_FATE_TAKEN: history.FateTaken,
		snowraftv1.NumberFate_NUMBER_FATE_UNKNOWN: history.FateUnknown,
	}[f]
}

func (s *shop) confirm(ctx context.Context, at place, c history.Claim) {
	s.request(ctx, history.Op{Do: history.DoConfirm, Key: at.sequence, Period: at.period, First: at.number, Claim: &c},
		func(ctx context.Context, of snowraftv1.ReservationServiceClient, _ *history.Op, opts ...grpc.CallOption) error {
			_, err := of.ConfirmNumbers(ctx, &snowraftv1.ConfirmNumbersRequest{Sequence: at.sequence, Claims: onTheWire(c)}, opts...)
			return err
		})
}

// void gives up a number of which the void row is committed. In a third of all cases, it does not say that this makes the number
// reusable.
func (s *shop) void(ctx context.Context, at place, c history.Claim) {
	c.Never = rand.IntN(3) > 0
	s.request(ctx, history.Op{Do: history.DoVoid, Key: at.sequence, Period: at.period, First: at.number, Claim: &c},
		func(ctx context.Context, of snowraftv1.ReservationServiceClient, _ *history.Op, opts ...grpc.CallOption) error {
			_, err := of.VoidNumbers(ctx, &snowraftv1.VoidNumbersRequest{
				Sequence: at.sequence, Claims: onTheWire(c), Reason: "no document", NeverCommitted: c.Never,
			}, opts...)
			return err
		})
}

func onTheWire(c history.Claim) []*snowraftv1.Claim {
	return []*snowraftv1.Claim{{Key: c.Key, Reservation: c.Reservation, Attempt: c.Attempt}}
}

// takes writes documents by hand from time to time, with numbers that lie above the last one.
func (s *shop) takes(ctx context.Context) {
	for history.Sleep(ctx, within(time.Second, 4*time.Second)) {
		sequence := anyOf(gapless)
		a, ok := s.account(ctx, sequence, "")
		if !ok {
			continue
		}
		at := place{sequence, a.Period, a.Last + 1 + rand.Int64N(3)}
		op := s.request(ctx, history.Op{Do: history.DoTake, Key: sequence, Period: at.period, First: at.number},
			func(ctx context.Context, c snowraftv1.ReservationServiceClient, _ *history.Op, opts ...grpc.CallOption) error {
				_, err := c.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{
					Sequence: sequence, Number: at.number, Period: at.period, Reason: "written by hand",
				}, opts...)
				return err
			})
		if op.Outcome != history.OK || s.crashes("taken") {
			continue
		}
		if t, err := s.db.insert(at, row{key: fmt.Sprintf("by hand %d", op.ID), elsewhere: true}); err == nil {
			t.commit()
		}
	}
}
