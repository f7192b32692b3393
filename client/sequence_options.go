package client

// SequenceOption changes what a change of a sequence does.
type SequenceOption func(*sequenceOptions)

type sequenceOptions struct {
	force      bool
	generation *uint64 // nil: any
}

// WithSequenceForce makes a change also if numbers would repeat: it is otherwise refused with ErrWouldRepeat. It does
// not apply to DeleteSequence.
func WithSequenceForce() SequenceOption { return func(o *sequenceOptions) { o.force = true } }

// WithSequenceGeneration makes a change only if the sequence has this generation, as [SequenceInfo] shows it: it is
// otherwise refused with ErrGenerationMismatch. It does not apply to CreateSequence.
func WithSequenceGeneration(generation uint64) SequenceOption {
	return func(o *sequenceOptions) { o.generation = &generation }
}

func newSequenceOptions(opts []SequenceOption) (o sequenceOptions) {
	for _, set := range opts {
		set(&o)
	}
	return o
}
