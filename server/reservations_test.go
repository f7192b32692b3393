package server_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func gapless(name string) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, Format: "INV-{date:yyyy}-{seq:03}"}
}

func (n *node) reservations() snowraftv1.ReservationServiceClient {
	return snowraftv1.NewReservationServiceClient(n.conn)
}

// reserve reserves a number for each key at a member.
func (n *node) reserve(name string, keys ...string) []*snowraftv1.Reservation {
	n.t.Helper()
	resp, err := n.reservations().ReserveNumbers(n.t.Context(), &snowraftv1.ReserveNumbersRequest{Sequence: name, Keys: keys})
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.GetReservations()
}

func claimOf(r *snowraftv1.Reservation) []*snowraftv1.Claim {
	return []*snowraftv1.Claim{{Key: r.GetKey(), Reservation: r.GetReservation(), Attempt: r.GetAttempt()}}
}

// Every member reserves, settles and explains numbers, by the leader.
func TestReservationsFromAnyMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].untilNewest()
		if s := nodes[0].createSequence(gapless("inv")); s.GetNext() != 1 || s.GetMode() != snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS {
			t.Errorf("created %v", s)
		}
		year := time.Now().UTC().Year()
		var all []*snowraftv1.Reservation
		for i, n := range nodes {
			got := n.reserve("inv", fmt.Sprint("a", i), fmt.Sprint("b", i))
			for j, r := range got {
				number := int64(1 + 2*i + j)
				if r.GetNumber() != number || r.GetText() != fmt.Sprintf("INV-%d-%03d", year, number) || r.GetPeriod() != fmt.Sprintf("%d-01-01", year) ||
					r.GetAttempt() != 1 || r.GetFate() != snowraftv1.NumberFate_NUMBER_FATE_OPEN || r.GetHolder() != "open" {
					t.Errorf("%s: %v, want number %d", n.cfg.Name, r, number)
				}
			}
			all = append(all, got...)
		}
		again := nodes[1].reserve("inv", "a0")[0]
		if again.GetNumber() != 1 || again.GetAttempt() != 2 || again.GetReservation() != all[0].GetReservation() {
			t.Errorf("the second attempt of %v is %v", all[0], again)
		}
		r, ctx := nodes[2].reservations(), t.Context()
		if _, err := r.ConfirmNumbers(ctx, &snowraftv1.ConfirmNumbersRequest{Sequence: "inv", Claims: claimOf(all[0])}); reason(err) != rpc.StaleAttempt {
			t.Errorf("the confirmation of an earlier attempt: %v", err)
		}
		for range 2 {
			if _, err := r.ConfirmNumbers(ctx, &snowraftv1.ConfirmNumbersRequest{Sequence: "inv", Claims: claimOf(again)}); err != nil {
				t.Error(err)
			}
			if _, err := r.VoidNumbers(ctx, &snowraftv1.VoidNumbersRequest{Sequence: "inv", Claims: claimOf(all[1]), Reason: "canceled"}); err != nil {
				t.Error(err)
			}
			if _, err := r.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{Sequence: "inv", Number: 10, Count: 2, Reason: "paper"}); err != nil {
				t.Error(err)
			}
		}
		if _, err := r.VoidNumbers(ctx, &snowraftv1.VoidNumbersRequest{Sequence: "inv", Claims: claimOf(again), Reason: "late"}); reason(err) != rpc.AlreadySettled {
			t.Errorf("a confirmed number becomes void: %v", err)
		}
		if got := nodes[0].reserve("inv", "a0")[0]; got.GetFate() != snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED || got.GetNumber() != 1 {
			t.Errorf("a confirmed key gets %v", got)
		}
		for _, n := range nodes {
			n.checkAccount(t, year)
		}
	})
}

// checkAccount checks the lists of the sequence of TestReservationsFromAnyMember, in pages of two.
func (n *node) checkAccount(t *testing.T, year int) {
	t.Helper()
	var open []string
	for token := ""; ; {
		resp, err := n.reservations().ListReservations(t.Context(), &snowraftv1.ListReservationsRequest{Sequence: "inv", PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range resp.GetReservations() {
			open = append(open, r.GetKey())
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	if want := []string{"a1", "b1", "a2", "b2"}; !slices.Equal(open, want) {
		t.Errorf("%s: open are %v, want %v", n.cfg.Name, open, want)
	}
	if resp, err := n.reservations().ListReservations(t.Context(), &snowraftv1.ListReservationsRequest{Sequence: "inv", MinAgeMs: 3_600_000}); err != nil || len(resp.GetReservations()) != 0 {
		t.Errorf("%s: open for an hour are %v, %v", n.cfg.Name, resp, err)
	}
	var runs []string
	var summary *snowraftv1.PeriodSummary
	for token := ""; ; {
		resp, err := n.reservations().AuditPeriod(t.Context(), &snowraftv1.AuditPeriodRequest{Sequence: "inv", Period: fmt.Sprintf("%d-01-01", year), PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		summary = resp.GetSummary()
		for _, r := range resp.GetNumbers() {
			runs = append(runs, fmt.Sprint(r.GetNumber(), "+", r.GetCount(), " ", r.GetFate().Number(), " ", r.GetKey(), r.GetReason(), " by ", r.GetCaller()))
		}
		if token = resp.GetNextPageToken(); token == "" {
			break
		}
	}
	want := &snowraftv1.PeriodSummary{
		Period: fmt.Sprintf("%d-01-01", year), First: new(int64(1)), Last: new(int64(11)), Confirmed: 1, Void: 1, Taken: 2, Open: 4, Missing: 3,
	}
	if !proto.Equal(summary, want) {
		t.Errorf("%s: summary %v, want %v", n.cfg.Name, summary, want)
	}
	if want := []string{"2+1 3 canceled by open", "3+1 1 a1 by open", "4+1 1 b1 by open", "5+1 1 a2 by open", "6+1 1 b2 by open", "10+2 4 paper by open"}; !slices.Equal(runs, want) {
		t.Errorf("%s: account %q, want %q", n.cfg.Name, runs, want)
	}
	periods, err := n.reservations().ListPeriods(t.Context(), &snowraftv1.ListPeriodsRequest{Sequence: "inv"})
	if err != nil || len(periods.GetPeriods()) != 1 || !proto.Equal(periods.GetPeriods()[0], want) {
		t.Errorf("%s: periods %v, %v", n.cfg.Name, periods, err)
	}
	got, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "inv"})
	if s := got.GetSequence(); err != nil || s.GetOpenReservations() != 4 || s.GetOldestOpenAtMs() == 0 || s.GetLast() != 6 || s.GetNext() != 7 {
		t.Errorf("%s: %v, %v", n.cfg.Name, got, err)
	}
}

// Numbers of a gapless sequence come by reservations only, and other sequences have none.
func TestGaplessSequencesRefuseOtherCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].untilNewest()
		nodes[0].createSequence(gapless("inv"))
		nodes[0].createSequence(strict("orders"))
		for _, n := range nodes {
			n.untilApplied(nodes)
			ctx, r, q := t.Context(), n.reservations(), n.sequences
			claims := []*snowraftv1.Claim{{Key: "k", Reservation: 7, Attempt: 1}}
			for name, c := range map[string]struct {
				call func() error
				want string
			}{
				"next": {func() error {
					_, err := q.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "inv", Count: 1})
					return err
				}, rpc.GaplessSequence},
				"next with an ID": {func() error {
					_, err := q.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "inv", Count: 1, RequestId: "r"})
					return err
				}, rpc.GaplessSequence},
				"set": {func() error {
					_, err := q.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: "inv", Next: 9, Force: true})
					return err
				}, rpc.GaplessSequence},
				"block": {func() error {
					_, err := q.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "inv", Count: 1})
					return err
				}, rpc.GaplessSequence},
				"reserve of a strict one": {func() error {
					_, err := r.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: "orders", Keys: []string{"k"}})
					return err
				}, rpc.NotGapless},
				"audit of a strict one": {func() error {
					_, err := r.AuditPeriod(ctx, &snowraftv1.AuditPeriodRequest{Sequence: "orders"})
					return err
				}, rpc.NotGapless},
				"reserve of an unknown one": {func() error {
					_, err := r.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: "no", Keys: []string{"k"}})
					return err
				}, rpc.UnknownSequence},
				"no key": {func() error {
					_, err := r.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: "inv"})
					return err
				}, rpc.InvalidArgument},
				"confirm of an unknown reservation": {func() error {
					_, err := r.ConfirmNumbers(ctx, &snowraftv1.ConfirmNumbersRequest{Sequence: "inv", Claims: claims})
					return err
				}, rpc.UnknownReservation},
				"void without a reason": {func() error {
					_, err := r.VoidNumbers(ctx, &snowraftv1.VoidNumbersRequest{Sequence: "inv", Claims: claims})
					return err
				}, rpc.InvalidArgument},
				"take in a later period": {func() error {
					_, err := r.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{Sequence: "inv", Number: 5, Period: "2999-01-01"})
					return err
				}, rpc.InvalidArgument},
				"take in no period": {func() error {
					_, err := r.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{Sequence: "inv", Number: 5, Period: "soon"})
					return err
				}, rpc.InvalidArgument},
				"resolve to open": {func() error {
					_, err := r.ResolveNumbers(ctx, &snowraftv1.ResolveNumbersRequest{Sequence: "inv", Number: 5, Fate: snowraftv1.NumberFate_NUMBER_FATE_OPEN})
					return err
				}, rpc.InvalidArgument},
				"a foreign page token": {func() error {
					_, err := r.ListReservations(ctx, &snowraftv1.ListReservationsRequest{Sequence: "inv", PageToken: "x"})
					return err
				}, rpc.InvalidArgument},
			} {
				if err := c.call(); reason(err) != c.want {
					t.Errorf("%s at %s: %v, want %s", name, n.cfg.Name, err, c.want)
				}
			}
		}
	})
}

// A gateway forwards reservations, and callers appear by the name of their token.
func TestReservationsNameTheirCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		n.untilNewest()
		if _, err := snowraftv1.NewSequenceServiceClient(s.admin(n)).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: gapless("inv")}); err != nil {
			t.Fatal(err)
		}
		text, id := s.token("billing", "seq:next:inv", "seq:read:inv")
		r, ctx := snowraftv1.NewReservationServiceClient(n.conn), as(t.Context(), text)
		resp, err := r.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: "inv", Keys: []string{"a"}}, grpc.WaitForReady(true))
		if want := fmt.Sprintf("token %d (billing)", id); err != nil || resp.GetReservations()[0].GetHolder() != want {
			t.Errorf("%v, %v, want the holder %s", resp, err, want)
		}
		if _, err := r.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{Sequence: "inv", Number: 9}); reason(err) != rpc.PermissionDenied {
			t.Errorf("a caller without seq:admin takes a number: %v", err)
		}
	})
}
