package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// numbersOfFake is the sequence of a fake member. All members share one counter.
type numbersOfFake struct {
	snowraftv1.UnimplementedSequenceServiceServer
	of             *fake
	takes          atomic.Int64 // nanoseconds until a request is answered
	asked, carried atomic.Int64 // requests; requests on streams among them
}

func (n *numbersOfFake) NextNumbers(ctx context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	n.asked.Add(1)
	timer := time.NewTimer(time.Duration(n.takes.Load()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	count := int64(req.GetCount())
	return &snowraftv1.NextNumbersResponse{First: n.of.of.last.Add(count) - count + 1, Count: req.GetCount(), Increment: 1}, nil
}

// SetNext takes as long as other requests.
func (n *numbersOfFake) SetNext(ctx context.Context, req *snowraftv1.SetNextRequest) (*snowraftv1.SetNextResponse, error) {
	if _, err := n.NextNumbers(ctx, new(snowraftv1.NextNumbersRequest)); err != nil {
		return nil, err
	}
	return &snowraftv1.SetNextResponse{Sequence: &snowraftv1.Sequence{Name: req.GetSequence()}}, nil
}

func (n *numbersOfFake) StreamNumbers(stream snowraftv1.SequenceService_StreamNumbersServer) error {
	var sending sync.Mutex
	var answers sync.WaitGroup
	defer answers.Wait()
	for {
		req, err := stream.Recv()
		if err != nil {
			return nil // the stream has ended
		}
		n.carried.Add(1)
		answers.Go(func() {
			resp, err := n.NextNumbers(stream.Context(), req.GetRequest())
			if err != nil {
				return
			}
			sending.Lock()
			defer sending.Unlock()
			_ = stream.Send(&snowraftv1.StreamNumbersResponse{Id: req.GetId(), Response: resp})
		})
	}
}
