package client

import (
	"context"
	"iter"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// CreateSequence creates a sequence and returns it. If the same sequence exists, CreateSequence returns it. If a
// different sequence of that name exists, CreateSequence fails with ErrSequenceExists.
func (c *Client) CreateSequence(ctx context.Context, spec SequenceSpec, opts ...SequenceOption) (SequenceInfo, error) {
	o := newSequenceOptions(opts)
	if o.generation != nil {
		return SequenceInfo{}, invalid("a new sequence has no generation; remove WithSequenceGeneration")
	}
	return changedSequence(c.sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{
		Sequence: spec.message(), Force: o.force, ForceFormat: o.forceFormat,
	}))
}

// GetSequence returns the sequence of that name, or ErrUnknownSequence. Its state is the leader's at some moment
// after the call began.
func (c *Client) GetSequence(ctx context.Context, name string) (SequenceInfo, error) {
	resp, err := c.sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name})
	if err != nil {
		return SequenceInfo{}, err
	}
	return sequenceInfo(resp.GetSequence())
}

// ListSequences yields the sequences whose names begin with prefix, in ascending order of their names. It requests
// them page by page during the iteration. After an error it yields no more.
func (c *Client) ListSequences(ctx context.Context, prefix string) iter.Seq2[SequenceInfo, error] {
	return listing(sequenceInfo, func(token string) ([]*snowraftv1.Sequence, string, error) {
		resp, err := c.sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{Prefix: prefix, PageToken: token, PageSize: pageSize})
		return resp.GetSequences(), resp.GetNextPageToken(), err
	})
}

// UpdateSequence changes fields of a sequence and returns it. If the answer is lost, the error is ErrCommitUnknown or
// the error of ctx, and the change may have been made. With [WithSequenceGeneration], the call can be repeated safely.
func (c *Client) UpdateSequence(ctx context.Context, name string, update SequenceUpdate, opts ...SequenceOption) (SequenceInfo, error) {
	o := newSequenceOptions(opts)
	m, mask := update.message(name)
	return changedSequence(c.sequences.UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
		Sequence: m, UpdateMask: mask, Force: o.force, ForceFormat: o.forceFormat, ExpectedGeneration: o.generation,
	}))
}

// DeleteSequence deletes a sequence. The cluster remembers its numbers, so that no number repeats if a sequence of
// that name is created again. DeleteSequence returns the names of members that did not acknowledge the deletion in
// time. Until these members acknowledge it, they may issue numbers of blocks that they hold.
func (c *Client) DeleteSequence(ctx context.Context, name string, opts ...SequenceOption) (unreachedMembers []string, err error) {
	o := newSequenceOptions(opts)
	if o.force || o.forceFormat {
		return nil, invalid("deleting a sequence repeats no number; remove WithSequenceForce and WithSequenceForceFormat")
	}
	resp, err := c.sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: name, ExpectedGeneration: o.generation})
	return resp.GetUnreachedMembers(), err
}

// SetNext sets the number that the sequence issues next, in [Min, Max].
func (s *Sequence) SetNext(ctx context.Context, next int64, opts ...SequenceOption) (SequenceInfo, error) {
	o := newSequenceOptions(opts)
	if o.forceFormat {
		return SequenceInfo{}, invalid("setting the next number changes no format; remove WithSequenceForceFormat")
	}
	return changedSequence(s.client.sequences.SetNext(ctx, &snowraftv1.SetNextRequest{
		Sequence: s.name, Next: next, Force: o.force, ExpectedGeneration: o.generation,
	}))
}

// Last returns the last number that was issued. For a strict sequence, the result is linearizable. For a relaxed
// sequence, it is the last number that the answering member issued. ok is false before the first number.
func (s *Sequence) Last(ctx context.Context) (last int64, ok bool, err error) {
	resp, err := s.client.sequences.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: s.name})
	if err != nil {
		return 0, false, err
	}
	return resp.GetLast(), resp.Last != nil, nil
}

// SequenceOption configures a change of a sequence.
type SequenceOption func(*sequenceOptions)

type sequenceOptions struct {
	force       bool
	forceFormat bool
	generation  *uint64 // expected generation; nil: any
}

// WithSequenceForce makes a change even if numbers would repeat. Without it, such a change fails with ErrWouldRepeat. It
// does not apply to DeleteSequence.
func WithSequenceForce() SequenceOption { return func(o *sequenceOptions) { o.force = true } }

// WithSequenceForceFormat accepts a format that may repeat texts. It permits no repeated number. It applies to CreateSequence
// and UpdateSequence.
func WithSequenceForceFormat() SequenceOption {
	return func(o *sequenceOptions) { o.forceFormat = true }
}

// WithSequenceGeneration makes a change only if the sequence has the given generation (see [SequenceInfo]). Otherwise,
// the change fails with ErrGenerationMismatch. It does not apply to CreateSequence.
func WithSequenceGeneration(generation uint64) SequenceOption {
	return func(o *sequenceOptions) { o.generation = &generation }
}

func newSequenceOptions(opts []SequenceOption) (o sequenceOptions) {
	for _, set := range opts {
		set(&o)
	}
	return o
}
