package rpc

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Finder asks the leader what there is, on a connection on which calls say that a member forwards them.
// Its errors are an [*Error].
type Finder struct {
	Sequences snowraftv1.SequenceServiceClient
	Layouts   snowraftv1.LayoutServiceClient
}

// SequenceGeneration is the generation of a sequence; not ok if there is none.
func (f Finder) SequenceGeneration(ctx context.Context, name string) (generation uint64, ok bool, err error) {
	resp, err := f.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name})
	ok, err = exists(err, UnknownSequence)
	return resp.GetSequence().GetGeneration(), ok, err
}

// LayoutExists reports whether there is a layout of this name.
func (f Finder) LayoutExists(ctx context.Context, name string) (bool, error) {
	_, err := f.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	return exists(err, UnknownLayout)
}

// exists reads from the error of a request for a thing whether the thing exists.
func exists(err error, unknown string) (bool, error) {
	if err == nil {
		return true, nil
	}
	if e := FromError(err); e.Reason != unknown {
		return false, e
	}
	return false, nil
}
