package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Dial returns a connection to the API at host:port, which the caller must close. The first
// call connects.
func Dial(address string, access Access) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address,
		append(access.options(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(limits.AnswerBytes)))...)
}

// IDs calls GenerateIds with the same request each time.
type IDs struct {
	Client  snowraftv1.IdServiceClient
	Request *snowraftv1.GenerateIdsRequest
	Timeout time.Duration // limit per call
}

// Call implements Caller.
func (c *IDs) Call(ctx context.Context, got *Receipt) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	resp, err := c.Client.GenerateIds(ctx, c.Request)
	if err != nil {
		return refusal(err)
	}
	before := got.numbers
	for _, r := range resp.GetRanges() {
		got.Range(uint64(r.GetFirst()), uint64(r.GetCount()), uint64(r.GetStep())) //nolint:gosec // the same bits
	}
	for _, id := range resp.GetIds() { // if the request is for packed IDs
		got.Number(uint64(id)) //nolint:gosec // never negative
	}
	return expected(got.numbers-before, max(uint64(c.Request.GetCount()), 1))
}

// Next calls SequenceService.NextNumbers with the same request each time. It records a number
// as its 64 bits in two's complement.
type Next struct {
	Client  snowraftv1.SequenceServiceClient
	Request *snowraftv1.NextNumbersRequest
	Timeout time.Duration // limit per call
}

// Call implements Caller.
func (c *Next) Call(ctx context.Context, got *Receipt) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	resp, err := c.Client.NextNumbers(ctx, c.Request)
	if err != nil {
		return refusal(err)
	}
	return got.run(resp.GetFirst(), uint64(resp.GetCount()), resp.GetIncrement(), max(uint64(c.Request.GetCount()), 1))
}

// run records the answer to a call that requested want numbers of a sequence.
func (r *Receipt) run(from int64, count uint64, increment int64, want uint64) error {
	first, step := uint64(from), uint64(increment) //nolint:gosec // the same bits
	if increment < 0 && count > 0 {                // recorded in ascending order
		first += (count - 1) * step
		step = -step
	}
	r.Range(first, count, step)
	return expected(count, want)
}

// refusal returns the error of a failed call with the reason of the member, or of gRPC.
func refusal(err error) error {
	e := rpc.FromError(err)
	reason := e.Reason
	switch {
	case reason != "":
	case e.Code == codes.DeadlineExceeded:
		reason = reasonTimeout
	case e.Code == codes.Unavailable:
		reason = reasonBroken
	default:
		reason = strings.ToUpper(e.Code.String())
	}
	return &Refusal{Reason: reason, Text: e.Message}
}

// expected returns an error if an answer has a wrong number of numbers.
func expected(got, want uint64) error {
	if got == want {
		return nil
	}
	return &Refusal{Reason: "WRONG_COUNT", Text: fmt.Sprintf("the answer has %d numbers, expected %d", got, want)}
}
