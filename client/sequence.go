package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/mux"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Sequence issues the numbers of one sequence, strict or relaxed, by requesting them from members. Concurrent
// requests share a call. Its methods are safe for concurrent use.
//
// With a strict sequence, a call that begins after another call returned gets greater numbers (smaller ones, if the
// increment is negative). This holds across processes and hosts, because a call to the cluster begins after all
// requests that it serves. The numbers of a relaxed sequence ascend only per member, and calls go to all members.
//
// Numbers are unique. There are gaps where calls failed, were canceled or were repeated at another member.
//
// A call whose ctx has no deadline takes at most the client's timeout. Errors are an [*Error], such as
// ErrUnknownSequence and ErrSequenceExhausted; ErrClosed; and the error of ctx.
type Sequence struct {
	name   string
	client *Client
	calls  coalescer[*numbering]
}

func newSequence(name string, c *Client) *Sequence {
	s := &Sequence{name: name, client: c}
	s.calls = coalescer[*numbering]{
		fetch:   func(ctx context.Context, count uint64, _ int64) (*numbering, error) { return s.ask(ctx, count, "") },
		divide:  func(err error) bool { return errors.Is(err, ErrSequenceExhausted) }, // enough numbers may be left for one caller
		timeout: c.opts.timeout, answerTimeout: leaderTimeout, suspicious: leaderTimeout, hedge: never, hooks: &c.opts.hooks,
	}
	if !c.opts.oneShot && streamable(name) {
		s.calls.send, s.calls.suspect, s.calls.alive = s.send, c.leader.caller.standing.suspect, c.numberStreams.answers
	}
	return s
}

// send sends a request for a batch on a stream.
func (s *Sequence) send(b *batch[*numbering], done func(*numbering, error, *former)) (member string, ok bool) {
	count := b.count
	req := &struct { // one allocation for both
		snowraftv1.StreamNumbersRequest
		numbers snowraftv1.NextNumbersRequest
	}{}
	req.numbers.Sequence, req.numbers.Count = s.name, uint32(count)
	req.Request = &req.numbers
	return s.client.numberStreams.send(b.deadline, mux.NumberRequest{StreamNumbersRequest: &req.StreamNumbersRequest}, func(a mux.Answer, failed *former) {
		if failed != nil {
			done(nil, nil, failed)
			return
		}
		answer, err := newNumbering(a.(*snowraftv1.StreamNumbersResponse).GetResponse(), count)
		done(answer, err, nil)
	})
}

// Next returns the next number.
func (s *Sequence) Next(ctx context.Context) (int64, error) {
	answer, at, err := s.get(ctx, 1)
	if err != nil {
		return 0, err
	}
	return answer.At(int(at)), nil
}

// Take returns the next n numbers, 1 to 1,000,000, in one run: no other caller gets a number between them. If
// fewer numbers are left, Take returns none of them and fails with ErrSequenceExhausted.
func (s *Sequence) Take(ctx context.Context, n int) (Numbers, error) {
	answer, at, err := s.get(ctx, n)
	if err != nil {
		return Numbers{}, err
	}
	return answer.part(at, uint64(n)), nil
}

// NextText returns the next number as text, in the sequence's format, or in decimal if the sequence has no format.
func (s *Sequence) NextText(ctx context.Context) (string, error) {
	texts, err := s.Texts(ctx, 1)
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// Texts returns the next n numbers as text, in the sequence's format. It fails as Take does.
func (s *Sequence) Texts(ctx context.Context, n int) ([]string, error) {
	answer, at, err := s.get(ctx, n)
	if err != nil {
		return nil, err
	}
	return answer.texts(at, uint64(n))
}

// TakeOnce returns the next n numbers for a request that may be repeated. A repetition within 10 minutes with the same
// request ID, 1 to 64 bytes, from this process or another, returns the same numbers. A repetition with another n fails
// with ErrRequestIDReused. Each request is a call of its own and costs a write to the cluster's log.
func (s *Sequence) TakeOnce(ctx context.Context, requestID string, n int) (Numbers, error) {
	answer, err := s.once(ctx, requestID, n)
	if err != nil {
		return Numbers{}, err
	}
	return answer.Numbers, nil
}

// TextsOnce returns the numbers of TakeOnce as text, in the sequence's format.
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

// get requests n numbers. The caller's numbers are the n numbers of the answer that start at the index at.
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
