package rpc

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Finder asks the leader what there is, on a connection on which calls say that a member forwards them.
// Its errors are an [*Error].
type Finder struct {
	Sequences snowraftv1.SequenceServiceClient
}

// SequenceGeneration is the generation of a sequence; not ok if there is none.
func (f Finder) SequenceGeneration(ctx context.Context, name string) (generation uint64, ok bool, err error) {
	resp, err := f.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name})
	if err == nil {
		return resp.GetSequence().GetGeneration(), true, nil
	}
	e := FromError(err)
	if e.Reason == UnknownSequence {
		return 0, false, nil
	}
	return 0, false, e
}
