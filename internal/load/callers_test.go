package load

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// outcome makes one call and returns its results.
func outcome(t *testing.T, c Caller) (numbers uint64, held []Span, reason string) {
	t.Helper()
	seen := NewSeen(1, DefaultSpans)
	got := &Receipt{check: startChecker(seen, 1), step: 1}
	defer got.check.end()
	err := c.Call(t.Context(), got)
	if err != nil {
		reason = reasonOf(err)
	}
	return got.numbers, got.buffer, reason
}

func expect(t *testing.T, name string, c Caller, want string) {
	t.Helper()
	numbers, held, reason := outcome(t, c)
	if got := strings.TrimSpace(fmt.Sprint(numbers, held, " ", reason)); got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// fakeIDs answers with the ranges that a test has prepared.
type fakeIDs struct {
	snowraftv1.IdServiceClient
	snowraftv1.SequenceServiceClient
	ids  *snowraftv1.GenerateIdsResponse
	next *snowraftv1.NextNumbersResponse
	err  error
}

func (f *fakeIDs) GenerateIds(context.Context, *snowraftv1.GenerateIdsRequest, ...grpc.CallOption) (*snowraftv1.GenerateIdsResponse, error) {
	return f.ids, f.err
}

func (f *fakeIDs) NextNumbers(context.Context, *snowraftv1.NextNumbersRequest, ...grpc.CallOption) (*snowraftv1.NextNumbersResponse, error) {
	return f.next, f.err
}

func TestGRPCCallers(t *testing.T) {
	t.Parallel()
	ids := func(f *fakeIDs, count uint32) Caller {
		return &IDs{Client: f, Request: &snowraftv1.GenerateIdsRequest{Count: count}, Timeout: time.Minute}
	}
	next := func(r *snowraftv1.NextNumbersResponse, count uint32) Caller {
		return &Next{Client: &fakeIDs{next: r}, Request: &snowraftv1.NextNumbersRequest{Count: count}, Timeout: time.Minute}
	}
	ranges := &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 5, Count: 3, Step: 1}, {First: 10, Count: 1, Step: 1}}}
	expect(t, "ranges", ids(&fakeIDs{ids: ranges}, 4), "4 [{5 7} {10 10}]")
	expect(t, "packed", ids(&fakeIDs{ids: &snowraftv1.GenerateIdsResponse{Ids: []int64{5, 6, 9}}}, 3), "3 [{5 6} {9 9}]")
	expect(t, "too few", ids(&fakeIDs{ids: ranges}, 5), "4 [{5 7} {10 10}] WRONG_COUNT")
	expect(t, "a refusal", ids(&fakeIDs{err: &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind}}, 1), "0 [] CLOCK_BEHIND")
	expect(t, "no connection", ids(&fakeIDs{err: &rpc.Error{Code: codes.Unavailable}}, 1), "0 [] CONNECTION")
	expect(t, "no answer", ids(&fakeIDs{err: &rpc.Error{Code: codes.DeadlineExceeded}}, 1), "0 [] TIMEOUT")
	expect(t, "another code", ids(&fakeIDs{err: &rpc.Error{Code: codes.Internal}}, 1), "0 [] INTERNAL")
	expect(t, "numbers", next(&snowraftv1.NextNumbersResponse{First: 7, Count: 3, Increment: 1}, 3), "3 [{7 9}]")
	expect(t, "numbers that descend", next(&snowraftv1.NextNumbersResponse{First: 9, Count: 3, Increment: -1}, 3), "3 [{7 9}]")
}
