package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/server/wire"
)

// reservations is the ReservationService of a member.
type reservations struct {
	snowraftv1.UnimplementedReservationServiceServer
	*Services
}

// ReserveNumbers implements snowraftv1.ReservationServiceServer. A sequence that does not exist begins first, if a template with
// gapless sequences matches.
func (r reservations) ReserveNumbers(ctx context.Context, req *snowraftv1.ReserveNumbersRequest) (*snowraftv1.ReserveNumbersResponse, error) {
	name := req.GetSequence()
	all, err := r.Member.ReserveNumbers(ctx, name, req.GetKeys(), req.GetPeriod())
	if _, unknown := errors.AsType[*member.UnknownSequenceError](err); unknown && r.Member.BeginsGapless(name) {
		if _, err := (sequences{Numbers: Numbers{Kernel: r.Kernel}, Services: r.Services}).BeginSequence(ctx, &snowraftv1.BeginSequenceRequest{Name: name}); err != nil {
			return nil, err
		}
		all, err = r.Member.ReserveNumbers(ctx, name, req.GetKeys(), req.GetPeriod())
	}
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.ReserveNumbersResponse{}
	r.Member.State().View(func(s *fsm.State) {
		for _, found := range all {
			resp.Reservations = append(resp.Reservations, reservationMessage(s, found.Reservation, found.Text))
		}
	})
	return resp, nil
}

// ConfirmNumbers implements snowraftv1.ReservationServiceServer.
func (r reservations) ConfirmNumbers(ctx context.Context, req *snowraftv1.ConfirmNumbersRequest) (*snowraftv1.ConfirmNumbersResponse, error) {
	if err := r.Member.ConfirmNumbers(ctx, req.GetSequence(), claimsOf(req.GetClaims())); err != nil {
		return nil, err
	}
	return &snowraftv1.ConfirmNumbersResponse{}, nil
}

// VoidNumbers implements snowraftv1.ReservationServiceServer.
func (r reservations) VoidNumbers(ctx context.Context, req *snowraftv1.VoidNumbersRequest) (*snowraftv1.VoidNumbersResponse, error) {
	if err := r.Member.VoidNumbers(ctx, req.GetSequence(), claimsOf(req.GetClaims()), req.GetReason(), req.GetNeverCommitted()); err != nil {
		return nil, err
	}
	return &snowraftv1.VoidNumbersResponse{}, nil
}

// TakeNumbers implements snowraftv1.ReservationServiceServer.
func (r reservations) TakeNumbers(ctx context.Context, req *snowraftv1.TakeNumbersRequest) (*snowraftv1.TakeNumbersResponse, error) {
	if err := r.Member.TakeNumbers(ctx, req.GetSequence(), runOf(req), req.GetReason()); err != nil {
		return nil, err
	}
	return &snowraftv1.TakeNumbersResponse{}, nil
}

// ResolveNumbers implements snowraftv1.ReservationServiceServer.
func (r reservations) ResolveNumbers(ctx context.Context, req *snowraftv1.ResolveNumbersRequest) (*snowraftv1.ResolveNumbersResponse, error) {
	used := req.GetFate() == snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED
	switch {
	case !used && req.GetFate() != snowraftv1.NumberFate_NUMBER_FATE_VOID:
		return nil, wire.Invalid(fmt.Sprintf("fate %d: expected confirmed or void", req.GetFate()))
	case used && req.GetReason() != "":
		return nil, wire.Invalid("reason: cannot be combined with the fate confirmed")
	}
	if err := r.Member.ResolveNumbers(ctx, req.GetSequence(), runOf(req), used, req.GetReason()); err != nil {
		return nil, err
	}
	return &snowraftv1.ResolveNumbersResponse{}, nil
}

// runOf returns the requested numbers; a count of 0 means 1.
func runOf(req interface {
	GetPeriod() string
	GetNumber() int64
	GetCount() uint64
}) member.Run {
	return member.Run{Period: req.GetPeriod(), First: req.GetNumber(), Count: max(req.GetCount(), 1)}
}

func claimsOf(all []*snowraftv1.Claim) []*commandv1.ReservationClaim {
	claims := make([]*commandv1.ReservationClaim, len(all))
	for i, c := range all {
		claims[i] = &commandv1.ReservationClaim{Key: c.GetKey(), Reservation: c.GetReservation(), Attempt: c.GetAttempt()}
	}
	return claims
}

// ListReservations implements snowraftv1.ReservationServiceServer. A page token is the reservation and the key of the last item.
func (r reservations) ListReservations(ctx context.Context, req *snowraftv1.ListReservationsRequest) (*snowraftv1.ListReservationsResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if req.GetMinAgeMs() < 0 {
		return nil, wire.Invalid(fmt.Sprintf("min_age_ms %d: must not be negative", req.GetMinAgeMs()))
	}
	index, key, found := strings.Cut(req.GetPageToken(), ":")
	after, err := strconv.ParseUint(index, 10, 64)
	if req.GetPageToken() != "" && (err != nil || !found) {
		return nil, wire.Invalid("page_token: expected the next_page_token of a list of this sequence")
	}
	q, err := r.Member.GaplessAtLeader(ctx, req.GetSequence())
	if err != nil {
		return nil, err
	}
	oldest := r.Member.Clock().Now().Wall - req.GetMinAgeMs()
	resp := &snowraftv1.ListReservationsResponse{}
	r.Member.State().View(func(s *fsm.State) {
		open := s.OpenReservations(req.GetSequence(), after, key, size+1)
		for i, o := range open { // the oldest first
			if o.ReservedMillis > oldest {
				open = open[:i]
				break
			}
		}
		resp.Reservations, resp.NextPageToken = page(open, size, func(last fsm.Reservation) string {
			return strconv.FormatUint(last.Reservation, 10) + ":" + last.Key
		}, func(o fsm.Reservation) *snowraftv1.Reservation {
			return reservationMessage(s, o, r.Member.TextOf(q, o))
		})
	})
	return resp, nil
}

// AuditPeriod implements snowraftv1.ReservationServiceServer. A page token is the last number of the page.
func (r reservations) AuditPeriod(ctx context.Context, req *snowraftv1.AuditPeriodRequest) (*snowraftv1.AuditPeriodResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	from := int64(fsm.FirstFate)
	if token := req.GetPageToken(); token != "" {
		if from, err = strconv.ParseInt(token, 10, 64); err != nil {
			return nil, wire.Invalid("page_token: expected the next_page_token of an account of this period")
		}
	}
	q, err := r.Member.GaplessAtLeader(ctx, req.GetSequence())
	if err != nil {
		return nil, err
	}
	period := q.Period
	if req.GetPeriod() != "" {
		if period, err = r.Member.PeriodOf(q, req.GetPeriod()); err != nil {
			return nil, err
		}
	}
	resp := &snowraftv1.AuditPeriodResponse{}
	r.Member.State().View(func(s *fsm.State) {
		resp.Summary = summaryMessage(s.Account(req.GetSequence(), period))
		runs := s.FatesOf(req.GetSequence(), period, from, size+1)
		next := func(last fsm.Fates) string { return strconv.FormatInt(last.First+1, 10) } // runs do not overlap
		resp.Numbers, resp.NextPageToken = page(runs, size, next, func(f fsm.Fates) *snowraftv1.NumberAccount {
			return &snowraftv1.NumberAccount{
				Number: f.First, Count: f.Count, Fate: snowraftv1.NumberFate(f.Kind), Key: f.Key, Voids: f.Voids, Reason: f.Reason,
				Reusable: f.Reusable, Index: f.Index, AtMs: f.AtMillis, Caller: callerText(s, f.By),
			}
		})
	})
	return resp, nil
}

// ListPeriods implements snowraftv1.ReservationServiceServer. A page token is the last period of the page.
func (r reservations) ListPeriods(ctx context.Context, req *snowraftv1.ListPeriodsRequest) (*snowraftv1.ListPeriodsResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	before := int64(math.MaxInt32)
	if token := req.GetPageToken(); token != "" {
		if before, err = strconv.ParseInt(token, 10, 32); err != nil {
			return nil, wire.Invalid("page_token: expected the next_page_token of a list of this sequence")
		}
	}
	if _, err := r.Member.GaplessAtLeader(ctx, req.GetSequence()); err != nil {
		return nil, err
	}
	resp := &snowraftv1.ListPeriodsResponse{}
	r.Member.State().View(func(s *fsm.State) {
		all := s.Accounts(req.GetSequence(), int32(before), size+1) //nolint:gosec // 32 bits
		resp.Periods, resp.NextPageToken = page(all, size, func(last fsm.Account) string { return strconv.Itoa(int(last.Period)) }, summaryMessage)
	})
	return resp, nil
}

func reservationMessage(s *fsm.State, r fsm.Reservation, text string) *snowraftv1.Reservation {
	return &snowraftv1.Reservation{
		Key: r.Key, Number: r.Number, Text: text, Period: sequence.Period(r.Period).String(), Reservation: r.Reservation, Attempt: r.Attempt,
		Fate: snowraftv1.NumberFate(r.Fate), ReservedAtMs: r.ReservedMillis, Holder: callerText(s, r.Holder),
	}
}

func summaryMessage(a fsm.Account) *snowraftv1.PeriodSummary {
	m := &snowraftv1.PeriodSummary{
		Period: sequence.Period(a.Period).String(), Closed: a.Closed, Confirmed: a.Confirmed, Void: a.Void, Taken: a.Taken, Open: a.Open,
		Unknown: a.Unknown, Missing: a.Missing, Cut: a.Cut,
	}
	if a.Some {
		m.First, m.Last = new(a.First), new(a.Last)
	}
	return m
}

// callerText describes a caller as the audit log does. A token that was deleted has no name.
func callerText(s *fsm.State, c fsm.Caller) string {
	switch c.Kind {
	case commandv1.ActorKind_ACTOR_KIND_TOKEN:
		if t, ok := s.Token(c.Token); ok {
			return fmt.Sprintf("token %d (%s)", c.Token, t.Name)
		}
		return fmt.Sprintf("token %d", c.Token)
	case commandv1.ActorKind_ACTOR_KIND_MEMBER:
		return "member " + c.Name
	case commandv1.ActorKind_ACTOR_KIND_ADMIN:
		return "admin"
	case commandv1.ActorKind_ACTOR_KIND_ANONYMOUS:
		return "anonymous"
	case commandv1.ActorKind_ACTOR_KIND_OPEN:
		return "open"
	}
	return ""
}
