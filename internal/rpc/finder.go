package rpc

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Finder checks at the leader whether a sequence or a layout exists. Its clients must mark their calls as forwarded by
// a member. Its errors are of type [*Error].
type Finder struct {
	Sequences snowraftv1.SequenceServiceClient
	Layouts   snowraftv1.LayoutServiceClient
}

// SequenceGeneration returns the generation of a sequence; ok is false if the sequence does not exist.
func (f Finder) SequenceGeneration(ctx context.Context, name string) (generation uint64, ok bool, err error) {
	resp, err := f.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name})
	ok, err = exists(err, UnknownSequence)
	return resp.GetSequence().GetGeneration(), ok, err
}

// LayoutExists reports whether a layout with this name exists.
func (f Finder) LayoutExists(ctx context.Context, name string) (bool, error) {
	_, err := f.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	return exists(err, UnknownLayout)
}

// exists reports whether a requested resource exists, given the error of the request and the reason for an unknown resource.
func exists(err error, unknown string) (bool, error) {
	if err == nil {
		return true, nil
	}
	if e := FromError(err); e.Reason != unknown {
		return false, e
	}
	return false, nil
}
