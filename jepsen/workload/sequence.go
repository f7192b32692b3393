//go:build linux

package workload

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// tryEvery is the pause before a load repeats a request.
const tryEvery = 200 * time.Millisecond

// Create creates and records sequences. When it returns, every running member knows them.
func (w *World) Create(ctx context.Context, sequences ...*snowraftv1.Sequence) error {
	s, err := connect(w, snowraftv1.NewSequenceServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	for _, spec := range sequences {
		// Recorded before the creation, so no number precedes this line in the journal.
		w.noteSequence(spec)
		err := w.insist(ctx, func(ctx context.Context, m *lab.Member) error {
			resp, err := s.of[m].CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: spec})
			if err == nil && len(resp.GetUnreachedMembers()) > 0 {
				err = fmt.Errorf("members unreached: %v", resp.GetUnreachedMembers())
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("create sequence %s: %w", spec.GetName(), err)
		}
	}
	return nil
}

func (w *World) noteSequence(spec *snowraftv1.Sequence) {
	line := history.Sequence{Name: spec.GetName(), Mode: history.ModeStrict, Reuses: spec.GetReuse()}
	switch spec.GetMode() {
	case snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED:
		line.Mode = history.ModeRelaxed
	case snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS:
		line.Mode = history.ModeGapless
	}
	w.Journal.Add(history.Line{Sequence: &line})
}

// insist calls f with random running members until f succeeds or ctx is done. f must be repeatable.
func (w *World) insist(ctx context.Context, f func(ctx context.Context, m *lab.Member) error) error {
	var last error
	for {
		if m, ok := w.someone(); ok {
			try, cancel := context.WithTimeout(ctx, callTimeout)
			last = f(try, m)
			cancel()
			if last == nil {
				return nil
			}
		}
		if !history.Sleep(ctx, tryEvery) {
			if last == nil {
				return fmt.Errorf("no member ran: %w", ctx.Err())
			}
			return fmt.Errorf("%w; last error: %w", ctx.Err(), last)
		}
	}
}

// numberer takes numbers of sequences.
type numberer struct {
	*client
	of map[*lab.Member]snowraftv1.SequenceServiceClient
}

// next requests numbers from a member. A request with an ID may be repeated.
func (c numberer) next(ctx context.Context, m *lab.Member, key string, count uint32, id string) history.Op {
	op, _ := c.call(ctx, m, history.Op{Do: history.DoNext, Key: key, Count: count, RequestID: id},
		func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
			resp, err := c.of[m].NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: key, Count: count, RequestId: id}, opts...)
			if err == nil {
				op.First, op.Count, op.Increment = resp.GetFirst(), resp.GetCount(), resp.GetIncrement()
			}
			return err
		})
	return op
}

// read requests the last issued number from a member; 0 means that no number was issued.
func (c numberer) read(ctx context.Context, m *lab.Member, key string) history.Op {
	op, _ := c.call(ctx, m, history.Op{Do: history.DoRead, Key: key},
		func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
			resp, err := c.of[m].GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: key}, opts...)
			op.First = resp.GetLast()
			return err
		})
	return op
}

// take requests numbers through the product's client. A request with an ID may be repeated.
func (c *client) take(ctx context.Context, s *product.Sequence, key string, count uint32, id string) history.Op {
	op, _ := c.through(ctx, history.Op{Do: history.DoNext, Key: key, Count: count, RequestID: id},
		func(ctx context.Context, op *history.Op) error {
			var got product.Numbers
			var err error
			if id == "" {
				got, err = s.Take(ctx, int(count))
			} else {
				got, err = s.TakeOnce(ctx, id, int(count))
			}
			if err == nil {
				op.First, op.Count, op.Increment = got.First, uint32(got.Count), got.Increment
			}
			return err
		})
	return op
}
