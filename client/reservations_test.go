package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// ledger is a member with reservations, in pages of two.
type ledger struct {
	snowraftv1.ReservationServiceClient
	open   []*snowraftv1.Reservation
	answer *snowraftv1.ReserveNumbersResponse
	fail   map[string]error // errors by key
	calls  []proto.Message
}

func (l *ledger) ReserveNumbers(_ context.Context, req *snowraftv1.ReserveNumbersRequest, _ ...grpc.CallOption) (*snowraftv1.ReserveNumbersResponse, error) {
	l.calls = append(l.calls, req)
	return l.answer, nil
}

func (l *ledger) ConfirmNumbers(_ context.Context, req *snowraftv1.ConfirmNumbersRequest, _ ...grpc.CallOption) (*snowraftv1.ConfirmNumbersResponse, error) {
	l.calls = append(l.calls, req)
	return &snowraftv1.ConfirmNumbersResponse{}, l.fail[req.GetClaims()[0].GetKey()]
}

func (l *ledger) VoidNumbers(_ context.Context, req *snowraftv1.VoidNumbersRequest, _ ...grpc.CallOption) (*snowraftv1.VoidNumbersResponse, error) {
	l.calls = append(l.calls, req)
	return &snowraftv1.VoidNumbersResponse{}, l.fail[req.GetClaims()[0].GetKey()]
}

func (l *ledger) ListReservations(_ context.Context, req *snowraftv1.ListReservationsRequest, _ ...grpc.CallOption) (*snowraftv1.ListReservationsResponse, error) {
	if req.GetMinAgeMs() != 60_000 || req.GetSequence() != "inv" {
		return nil, fmt.Errorf("unexpected request %v", req)
	}
	from := slices.IndexFunc(l.open, func(r *snowraftv1.Reservation) bool { return r.GetKey() == req.GetPageToken() }) + 1
	until := min(from+2, len(l.open))
	resp := &snowraftv1.ListReservationsResponse{Reservations: l.open[from:until]}
	if until < len(l.open) {
		resp.NextPageToken = l.open[until-1].GetKey()
	}
	return resp, nil
}

func openLedger(t *testing.T, l *ledger) *Sequence {
	t.Helper()
	c, err := New([]string{"127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.reservations = l
	return c.Sequence("inv")
}

func openReservation(key string, number int64) *snowraftv1.Reservation {
	return &snowraftv1.Reservation{
		Key: key, Number: number, Text: fmt.Sprintf("INV-%d", number), Period: "2026-01-01", Reservation: 100 + uint64(number), Attempt: 2,
		Fate: snowraftv1.NumberFate_NUMBER_FATE_OPEN, ReservedAtMs: 1_792_419_138_000, Holder: "token 17 (billing)",
	}
}

func TestReserve(t *testing.T) {
	t.Parallel()
	confirmed := openReservation("b", 8)
	confirmed.Fate = snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED
	l := &ledger{answer: &snowraftv1.ReserveNumbersResponse{Reservations: []*snowraftv1.Reservation{openReservation("a", 7), confirmed}}}
	s := openLedger(t, l)
	got, err := s.Reserve(t.Context(), "a", "b")
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	want := Reservation{
		Claim: Claim{Key: "a", Reservation: 107, Attempt: 2}, Number: 7, Text: "INV-7", Period: sequence.Period(20260101),
		ReservedAt: time.UnixMilli(1_792_419_138_000), Holder: "token 17 (billing)",
	}
	if got[0] != want || got[1].Fate != FateConfirmed || got[1].Number != 8 {
		t.Errorf("Reserve() = %+v, want %+v first", got, want)
	}
	if err := s.Confirm(t.Context(), got[0].Claim, got[1].Claim); err != nil {
		t.Error(err)
	}
	if err := s.Void(t.Context(), "canceled", got[0].Claim); err != nil {
		t.Error(err)
	}
	if err := s.VoidNeverCommitted(t.Context(), "canceled", got[0].Claim); err != nil {
		t.Error(err)
	}
	if late, err := s.ReserveOf(t.Context(), "2025", "a", "b"); err != nil || late[0] != want {
		t.Errorf("ReserveOf() = %+v, %v", late, err)
	}
	if _, err := s.ReserveOf(t.Context(), "", "a"); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("a missing period: %v", err)
	}
	claims := []*snowraftv1.Claim{{Key: "a", Reservation: 107, Attempt: 2}, {Key: "b", Reservation: 108, Attempt: 2}}
	for i, want := range []proto.Message{
		&snowraftv1.ReserveNumbersRequest{Sequence: "inv", Keys: []string{"a", "b"}},
		&snowraftv1.ConfirmNumbersRequest{Sequence: "inv", Claims: claims},
		&snowraftv1.VoidNumbersRequest{Sequence: "inv", Claims: claims[:1], Reason: "canceled"},
		&snowraftv1.VoidNumbersRequest{Sequence: "inv", Claims: claims[:1], Reason: "canceled", NeverCommitted: true},
		&snowraftv1.ReserveNumbersRequest{Sequence: "inv", Keys: []string{"a", "b"}, Period: "2025"},
	} {
		if !proto.Equal(l.calls[i], want) {
			t.Errorf("call %d is %v, want %v", i, l.calls[i], want)
		}
	}
}

// A wrong answer must not give a document the number of another one.
func TestReserveRejectsWrongAnswers(t *testing.T) {
	t.Parallel()
	void, otherDay := openReservation("a", 7), openReservation("a", 7)
	void.Fate, otherDay.Period = snowraftv1.NumberFate_NUMBER_FATE_VOID, "yesterday"
	for name, answer := range map[string][]*snowraftv1.Reservation{
		"none": nil, "another key": {openReservation("b", 7)}, "two": {openReservation("a", 7), openReservation("a", 8)}, "void": {void}, "period": {otherDay},
	} {
		s := openLedger(t, &ledger{answer: &snowraftv1.ReserveNumbersResponse{Reservations: answer}})
		if got, err := s.Reserve(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "invalid response") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A member that repeats a token, or returns two of them in turns, must not keep the client busy.
func TestListsEnd(t *testing.T) {
	t.Parallel()
	for _, tokens := range [][]string{{"x"}, {"x", "y"}} {
		pages := 0
		page := func(string) ([]int, string, error) {
			pages++
			return nil, tokens[pages%len(tokens)], nil
		}
		var last error
		for _, err := range listing(func(n int) (int, error) { return n, nil }, page) {
			last = err
		}
		if want := map[int]int{1: 2, 2: mostPages}[len(tokens)]; pages != want || last == nil || !strings.Contains(last.Error(), "a list that does not end") {
			t.Errorf("%v: %d pages, %v, want %d", tokens, pages, last, want)
		}
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	refusal := func(reason string) error { return newError(rpc.NewError(reason, "no").GRPCStatus().Err(), "m1") }
	l := &ledger{fail: map[string]error{"stale": refusal(rpc.StaleAttempt), "settled": refusal(rpc.AlreadySettled), "forgotten": refusal(rpc.UnknownReservation)}}
	for i, key := range []string{"used", "void", "leave", "stale", "settled", "forgotten", "reusable"} {
		l.open = append(l.open, openReservation(key, int64(i)))
	}
	resolve := func(_ context.Context, r Reservation) (Resolution, error) {
		switch r.Key {
		case "leave":
			return Resolution{}, nil
		case "void", "forgotten":
			return Resolution{Fate: FateVoid, Reason: "canceled"}, nil
		case "reusable":
			return Resolution{Fate: FateVoid, Reason: "canceled", NeverCommitted: true}, nil
		}
		return Resolution{Fate: FateConfirmed}, nil
	}
	s := openLedger(t, l)
	done, err := s.Reconcile(t.Context(), time.Minute, resolve)
	if want := (Reconciled{Confirmed: 1, Void: 2, Left: 1, Overtaken: 3}); err != nil || done != want {
		t.Errorf("Reconcile() = %+v, %v, want %+v", done, err, want)
	}
	last := l.calls[len(l.calls)-1]
	if want := (&snowraftv1.VoidNumbersRequest{
		Sequence: "inv", Claims: []*snowraftv1.Claim{{Key: "reusable", Reservation: 106, Attempt: 2}}, Reason: "canceled", NeverCommitted: true,
	}); len(l.calls) != 6 || !proto.Equal(last, want) {
		t.Errorf("%d calls, the last is %v, want %v", len(l.calls), last, want)
	}

	// Any other error ends the pass: the rest stays open.
	calls := len(l.calls)
	l.fail["void"] = refusal(rpc.NoLeader)
	if done, err := s.Reconcile(t.Context(), time.Minute, resolve); !errors.Is(err, ErrNoLeader) || done != (Reconciled{Confirmed: 1}) || len(l.calls) != calls+2 {
		t.Errorf("Reconcile() = %+v, %v after %d calls, want ErrNoLeader at the second", done, err, len(l.calls)-calls)
	}
	down := errors.New("database down")
	if _, err := s.Reconcile(t.Context(), time.Minute, func(context.Context, Reservation) (Resolution, error) { return Resolution{Fate: FateVoid}, down }); !errors.Is(err, down) {
		t.Errorf("Reconcile() = %v, want the error of resolve", err)
	}
	if _, err := s.Reconcile(t.Context(), time.Minute, func(context.Context, Reservation) (Resolution, error) { return Resolution{Fate: 9}, nil }); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("Reconcile() = %v, want ErrInvalidArgument", err)
	}
}

// Reservations, confirmations and voids may be repeated after an unknown outcome.
func TestReservationsMayBeRepeated(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		snowraftv1.ReservationService_ReserveNumbers_FullMethodName, snowraftv1.ReservationService_ConfirmNumbers_FullMethodName, snowraftv1.ReservationService_VoidNumbers_FullMethodName,
	} {
		p := policyOf(method, nil)
		if !p.harmless || p.tryTimeout != leaderTimeout || !p.again(&Error{Reason: rpc.CommitUnknown, code: codes.Unknown}, true) {
			t.Errorf("%s: %+v", method, p)
		}
	}
}
