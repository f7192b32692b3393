package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Sequence issues the numbers of one sequence, strict or relaxed, asking members for them. Requests that
// come at the same time travel in one call. Its methods may be called from any goroutine.
//
// Of a strict sequence a call that begins after another one returned gets the greater numbers (smaller ones, if the
// increment is negative), whoever made it and wherever: a call to the cluster begins after all
// requests that it serves. A relaxed sequence ascends for each member by itself, and
// calls go to all of them.
//
// Numbers are unique; there are gaps where calls failed, were given up, or were repeated at another member.
//
// Without a deadline in ctx a call takes at most the client's timeout. Errors are an [*Error], such as
// ErrUnknownSequence and ErrSequenceExhausted; ErrClosed; and that of ctx.
type Sequence struct {
	name   string
	client *Client
	calls  coalescer[*numbering]
}

func newSequence(name string, c *Client) *Sequence {
	s := &Sequence{name: name, client: c}
	s.calls = coalescer[*numbering]{
		fetch:   func(ctx context.Context, count uint64, _ int64) (*numbering, error) { return s.ask(ctx, count, "") },
		divide:  func(err error) bool { return errors.Is(err, ErrSequenceExhausted) }, // there may be enough for one
		timeout: c.opts.timeout, patience: leaderPatience, suspicious: leaderPatience, hedge: never, hooks: &c.opts.hooks,
	}
	if !c.opts.oneShot {
		s.calls.ship, s.calls.late, s.calls.check = s.ship, c.leader.caller.standing.suspect, c.numberStreams.answers
	}
	return s
}

// ship sends a request for a batch on a stream.
func (s *Sequence) ship(b *batch[*numbering], landed func(*numbering, error, *former)) (member string, ok bool) {
	count := b.count
	req := &struct { // in one piece
		snowraftv1.StreamNumbersRequest
		numbers snowraftv1.NextNumbersRequest
	}{}
	req.numbers.Sequence, req.numbers.Count = s.name, uint32(count)
	req.Request = &req.numbers
	return s.client.numberStreams.send(b.deadline, numberRequest{&req.StreamNumbersRequest}, func(a carriedAnswer, failed *former) {
		if failed != nil {
			landed(nil, nil, failed)
			return
		}
		answer, err := newNumbering(a.(*snowraftv1.StreamNumbersResponse).GetResponse(), count)
		landed(answer, err, nil)
	})
}

// numberRequest is a request for numbers.
type numberRequest struct {
	*snowraftv1.StreamNumbersRequest
}

func (r numberRequest) address(id uint64, timeoutMillis uint32) {
	r.Id, r.TimeoutMs = id, timeoutMillis
}

// Next returns the next number.
func (s *Sequence) Next(ctx context.Context) (int64, error) {
	answer, at, err := s.get(ctx, 1)
	if err != nil {
		return 0, err
	}
	return answer.At(int(at)), nil
}

// Take returns the next n numbers, 1 to 1,000,000, in one run: others' numbers are not among them. When
// fewer are left it returns none of them, and ErrSequenceExhausted.
func (s *Sequence) Take(ctx context.Context, n int) (Numbers, error) {
	answer, at, err := s.get(ctx, n)
	if err != nil {
		return Numbers{}, err
	}
	return answer.part(at, uint64(n)), nil
}

// NextText returns the next number as text, in the sequence's format; in decimal if it has none.
func (s *Sequence) NextText(ctx context.Context) (string, error) {
	texts, err := s.Texts(ctx, 1)
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// Texts returns the next n numbers as Take does, as text, in the sequence's format.
func (s *Sequence) Texts(ctx context.Context, n int) ([]string, error) {
	answer, at, err := s.get(ctx, n)
	if err != nil {
		return nil, err
	}
	return answer.texts(at, uint64(n))
}

// TakeOnce is Take for a request that may be repeated: who asks again within 10 minutes under the same ID, 1 to 64
// bytes, through this process or another, gets the same numbers. For another n
// the ID is refused with ErrInvalidArgument. It costs a write to the cluster's log, and travels alone.
func (s *Sequence) TakeOnce(ctx context.Context, requestID string, n int) (Numbers, error) {
	answer, err := s.once(ctx, requestID, n)
	if err != nil {
		return Numbers{}, err
	}
	return answer.Numbers, nil
}

// TextsOnce is TakeOnce with the numbers as text, in the sequence's format.
func (s *Sequence) TextsOnce(ctx context.Context, requestID string, n int) ([]string, error) {
	answer, err := s.once(ctx, requestID, n)
	if err != nil {
		return nil, err
	}
	return answer.texts(0, uint64(n))
}

func (s *Sequence) once(ctx context.Context, requestID string, n int) (*numbering, error) {
	if err := checkCount(n, "numbers"); err != nil {
		return nil, err
	}
	if requestID == "" || len(requestID) > limits.RequestIDBytes {
		return nil, invalid(fmt.Sprintf("request ID of %d bytes: expected 1 to %d bytes", len(requestID), limits.RequestIDBytes))
	}
	return s.ask(ctx, uint64(n), requestID)
}

// get gets n numbers: those of the answer from an index on.
func (s *Sequence) get(ctx context.Context, n int) (answer *numbering, at uint64, err error) {
	if err := checkCount(n, "numbers"); err != nil {
		return nil, 0, err
	}
	return s.calls.do(ctx, uint64(n), 0)
}

func (s *Sequence) ask(ctx context.Context, count uint64, requestID string) (*numbering, error) {
	resp, err := s.client.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: s.name, Count: uint32(count), RequestId: requestID})
	if err != nil {
		return nil, err
	}
	return newNumbering(resp, count)
}
