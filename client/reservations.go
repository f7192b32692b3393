package client

import (
	"context"
	"iter"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// Fate is the fate of a number of a gapless sequence.
type Fate uint8

const (
	// FateOpen is a number that is reserved, and neither confirmed nor void.
	FateOpen Fate = iota
	// FateConfirmed is a number that is in use, by the word of a caller.
	FateConfirmed
	// FateVoid is a number that is not in use, by the word of a caller.
	FateVoid
)

// String returns "open", "confirmed" or "void".
func (f Fate) String() string {
	switch f {
	case FateOpen:
		return "open"
	case FateConfirmed:
		return "confirmed"
	case FateVoid:
		return "void"
	}
	return "unknown"
}

// Claim names an attempt of a reservation. A later attempt replaces it: what its holder says then changes nothing.
type Claim struct {
	Key string // chosen by the application, 1 to 128 bytes
	// Reservation identifies the reservation among all of the key. A later reservation of the cluster has a greater value.
	Reservation uint64
	Attempt     uint32 // 1 for the call that drew the number, one more for each further call with the key
}

// Reservation is the number that a gapless sequence reserved for a key.
type Reservation struct {
	Claim
	Number int64
	Text   string          // the number in the sequence's format; in decimal if it has none
	Period sequence.Period // 0 if the sequence has no reset
	// Fate is FateOpen or FateConfirmed.
	Fate       Fate
	ReservedAt time.Time // time of the first attempt
	Holder     string    // caller of the last attempt, such as "token 17 (billing)"
}

// Reserve reserves a number of a gapless sequence for each key, 1 to 100 different keys. A key with an open reservation gets
// its number again in the next attempt of the reservation. A key with a confirmed number gets that number, with
// FateConfirmed. A key whose number is void gets another number. If one key gets no number, none does.
//
// No time limit ends a reservation: the caller says what became of the number, by Confirm or Void. After an error, the call may
// be repeated. It fails with ErrReservationsOpen while the sequence has 1,000 open reservations, with ErrOverloaded while the
// cluster remembers too many keys, and with ErrNumberUnresolved for a key whose number a restore left unknown.
func (s *Sequence) Reserve(ctx context.Context, keys ...string) ([]Reservation, error) {
	return s.reserve(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: s.name, Keys: keys})
}

// ReserveOf reserves as Reserve does, with new numbers of one period: the present one, or an earlier one whose late time has not
// passed. The period is its first day, such as 2026-10-01, or a shorter form that fits the reset, such as 2026-10. A key that has
// a number keeps it, also one of another period. ReserveOf fails with the reason PERIOD_CLOSED.
func (s *Sequence) ReserveOf(ctx context.Context, period string, keys ...string) ([]Reservation, error) {
	if period == "" {
		return nil, invalid("period: missing name, such as 2026-10")
	}
	return s.reserve(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: s.name, Keys: keys, Period: period})
}

func (s *Sequence) reserve(ctx context.Context, req *snowraftv1.ReserveNumbersRequest) ([]Reservation, error) {
	resp, err := s.client.reservations.ReserveNumbers(ctx, req)
	if err != nil {
		return nil, err
	}
	keys := req.GetKeys()
	if len(resp.GetReservations()) != len(keys) {
		return nil, malformed("%d reservations for %d keys", len(resp.GetReservations()), len(keys))
	}
	all := make([]Reservation, 0, len(keys))
	for i, m := range resp.GetReservations() {
		r, err := reservation(m)
		if err != nil {
			return nil, err
		}
		if r.Key != keys[i] {
			return nil, malformed("the reservation of another key")
		}
		all = append(all, r)
	}
	return all, nil
}

// Confirm records that the claimed numbers are in use: all of them or, if one claim fails, none. It may be repeated. It fails with
// ErrStaleAttempt if a key was reserved again since, with ErrAlreadySettled if a number is void, with ErrUnknownReservation if
// the cluster does not remember a reservation, and with ErrNumberUnresolved if a restore left a number unknown.
func (s *Sequence) Confirm(ctx context.Context, claims ...Claim) error {
	_, err := s.client.reservations.ConfirmNumbers(ctx, &snowraftv1.ConfirmNumbersRequest{Sequence: s.name, Claims: claimsOnTheWire(claims)})
	return err
}

// Void records that the claimed numbers are not in use, with a reason of 1 to 256 bytes: all of them or, if one claim fails,
// none. The cluster keeps the numbers with the reason, and never reserves them again. Void may be repeated. It fails as Confirm
// does, with ErrAlreadySettled if a number is confirmed.
func (s *Sequence) Void(ctx context.Context, reason string, claims ...Claim) error {
	return s.void(ctx, reason, false, claims)
}

// VoidNeverCommitted is Void for numbers that no transaction can commit anymore, because the application's database has a
// UNIQUE constraint on sequence, period and number, and a committed row for each of the void numbers. A sequence with reuse
// may reserve such a number again.
func (s *Sequence) VoidNeverCommitted(ctx context.Context, reason string, claims ...Claim) error {
	return s.void(ctx, reason, true, claims)
}

func (s *Sequence) void(ctx context.Context, reason string, neverCommitted bool, claims []Claim) error {
	_, err := s.client.reservations.VoidNumbers(ctx, &snowraftv1.VoidNumbersRequest{
		Sequence: s.name, Claims: claimsOnTheWire(claims), Reason: reason, NeverCommitted: neverCommitted,
	})
	return err
}

// OpenReservations yields the open reservations whose first attempt was at least minAge ago, the oldest first. It requests them
// page by page during the iteration. After an error it yields no more.
func (s *Sequence) OpenReservations(ctx context.Context, minAge time.Duration) iter.Seq2[Reservation, error] {
	return listing(reservation, func(token string) ([]*snowraftv1.Reservation, string, error) {
		resp, err := s.client.reservations.ListReservations(ctx, &snowraftv1.ListReservationsRequest{
			Sequence: s.name, PageToken: token, PageSize: pageSize, MinAgeMs: wholeMillis(minAge),
		})
		return resp.GetReservations(), resp.GetNextPageToken(), err
	})
}

func claimsOnTheWire(claims []Claim) []*snowraftv1.Claim {
	all := make([]*snowraftv1.Claim, len(claims))
	for i, c := range claims {
		all[i] = &snowraftv1.Claim{Key: c.Key, Reservation: c.Reservation, Attempt: c.Attempt}
	}
	return all
}

// reservation converts an open or confirmed reservation of the API.
func reservation(m *snowraftv1.Reservation) (Reservation, error) {
	period, err := sequence.ParsePeriod(m.GetPeriod())
	if err != nil {
		return Reservation{}, malformed("the period %q", m.GetPeriod())
	}
	r := Reservation{
		Claim:  Claim{Key: m.GetKey(), Reservation: m.GetReservation(), Attempt: m.GetAttempt()},
		Number: m.GetNumber(), Text: m.GetText(), Period: period, ReservedAt: time.UnixMilli(m.GetReservedAtMs()), Holder: m.GetHolder(),
	}
	switch m.GetFate() {
	case snowraftv1.NumberFate_NUMBER_FATE_OPEN:
	case snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED:
		r.Fate = FateConfirmed
	default:
		return Reservation{}, malformed("the fate %v of a reservation", m.GetFate())
	}
	return r, nil
}
