package client

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
