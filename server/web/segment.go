package web

import (
	"context"
	"crypto/rand"
	"math"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// takeBlock takes a block of a relaxed sequence for a client that issues its numbers itself. Such a client keeps its segment for as
// long as it likes, and does not learn of changes. A block that does not fit the client goes back, and the error is that of fits.
func (h *handler) takeBlock(ctx context.Context, sequence string, count uint64, fits func(*snowraftv1.Block) error) error {
	ctx, cancel := context.WithTimeout(ctx, limits.CallTimeout)
	defer cancel()
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	sequences := snowraftv1.NewSequenceServiceClient(h.cfg.Conn)
	resp, err := sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: sequence, Count: count, ReturnKey: key})
	if err != nil {
		return err
	}
	b := resp.GetBlock()
	if err = fits(b); err != nil {
		_, _ = sequences.ReturnBlock(ctx, &snowraftv1.ReturnBlockRequest{Sequence: sequence, Token: b.GetToken(), Unused: b.GetCount(), ReturnKey: key})
	}
	return err
}

// crowded reports whether the last number of a segment is so near the end of the 64-bit numbers that the counter of a client can pass the
// end. Clients count on after their last number while they wait for the next segment, and would then issue negative numbers.
func crowded(last, increment int64) bool { return last > math.MaxInt64-increment<<31 }

// unfit returns the error of a sequence whose numbers a client cannot issue.
func unfit(client, why, instead string) error {
	return invalid("a client of " + client + " cannot issue numbers of a sequence that " + why + "; " + instead)
}
