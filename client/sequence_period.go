package client

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Period is a period of a sequence whose numbers are wanted: the present one, or an earlier one that is still open.
type Period struct {
	// Name is the first day of the period, such as 2026-10-01, or a shorter form that fits the reset, such as 2026-10.
	Name string
	// From is the next number of the period, by the caller's word, if the cluster does not know how the period ended. It needs the
	// right seq:admin. If a number from there on was issued in the period, numbers repeat.
	From *int64
	// RequestID makes the request one that may be repeated, as in TakeOnce; empty: it may not.
	RequestID string
}

// TakeOf returns the next n numbers of one period. Numbers of a period that ended follow all that were granted in it. Each request
// is a call of its own and costs a write to the cluster's log. TakeOf fails with the reasons PERIOD_CLOSED and PERIOD_UNKNOWN.
func (s *Sequence) TakeOf(ctx context.Context, p Period, n int) (Numbers, error) {
	answer, err := s.askOf(ctx, p, n)
	if err != nil {
		return Numbers{}, err
	}
	return answer.Numbers, nil
}

// TextsOf returns the numbers of TakeOf as text, in the sequence's format. Their dates are in the period.
func (s *Sequence) TextsOf(ctx context.Context, p Period, n int) ([]string, error) {
	answer, err := s.askOf(ctx, p, n)
	if err != nil {
		return nil, err
	}
	return answer.texts(0, uint64(n))
}

func (s *Sequence) askOf(ctx context.Context, p Period, n int) (*numbering, error) {
	if err := checkCount(n, "numbers"); err != nil {
		return nil, err
	}
	if p.Name == "" {
		return nil, invalid("period: missing name, such as 2026-10")
	}
	if len(p.RequestID) > limits.RequestIDBytes {
		return nil, invalid(fmt.Sprintf("request ID of %d bytes: expected at most %d bytes", len(p.RequestID), limits.RequestIDBytes))
	}
	resp, err := s.client.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{
		Sequence: s.name, Count: uint32(n), RequestId: p.RequestID, Period: p.Name, From: p.From,
	})
	if err != nil {
		return nil, err
	}
	return newNumbering(resp, uint64(n))
}
