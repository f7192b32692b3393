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
	if err == nil {
		return resp.GetSequence().GetGeneration(), true, nil
	}
	e := FromError(err)
	if e.Reason == UnknownSequence {
		return 0, false, nil
	}
	return 0, false, e
}

// LayoutExists reports whether there is a layout of this name.
func (f Finder) LayoutExists(ctx context.Context, name string) (bool, error) {
	_, err := f.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	if err == nil {
		return true, nil
	}
	e := FromError(err)
	if e.Reason == UnknownLayout {
		return false, nil
	}
	return false, e
}
