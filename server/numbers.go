package server

import (
	"context"
	"strconv"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxTexts is how many numbers an answer of Next has as text.
const maxTexts = 1000

// numbers gives out numbers to the member's faces other than gRPC.
type numbers struct {
	s         *Server
	sequences snowraftv1.SequenceServiceClient
}

// Ids implements web.Backend.
func (n numbers) Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	issuer, err := n.s.member.Issuer(ctx, layout)
	if err != nil {
		return dst, toStatus(err)
	}
	scratch := ranges.Get().(*[]allocator.Range)
	defer ranges.Put(scratch)
	taken, err := issuer.Take(ctx, (*scratch)[:0], count, 0)
	*scratch = taken
	if err != nil {
		return dst, toStatus(err)
	}
	n.s.metrics.issued(count)
	for _, r := range taken {
		for id := range r.All() {
			dst = append(dst, id)
		}
	}
	return dst, nil
}

// Next implements web.Backend.
func (n numbers) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	if count > maxCount {
		return 0, 0, invalid("count is " + strconv.FormatUint(count, 10) + ", at most " + strconv.Itoa(maxCount) + " numbers are given out a call")
	}
	resp, err := n.sequences.Next(ctx, &snowraftv1.NextRequest{Sequence: sequence, Count: uint32(count)})
	if err != nil {
		return 0, 0, rpc.FromError(err)
	}
	return resp.GetFirst(), resp.GetIncrement(), nil
}

// AppendNext implements web.Backend.
func (n numbers) AppendNext(ctx context.Context, dst []byte, sequence string, count uint64) ([]byte, error) {
	most := uint64(maxTexts) // until it is known that the sequence has no format
	for count > 0 {
		resp, err := n.sequences.Next(ctx, &snowraftv1.NextRequest{Sequence: sequence, Count: uint32(min(count, most))})
		if err != nil {
			return dst, rpc.FromError(err)
		}
		for _, text := range resp.GetTexts() {
			dst = append(append(dst, text...), '\n')
		}
		if resp.GetFormat() == "" {
			most = maxCount
			for i := range int64(resp.GetCount()) {
				dst = append(strconv.AppendInt(dst, resp.GetFirst()+i*resp.GetIncrement(), 10), '\n')
			}
		}
		count -= min(count, max(uint64(resp.GetCount()), 1))
	}
	return dst, nil
}
