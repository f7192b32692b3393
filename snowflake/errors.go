package snowflake

import "errors"

// The errors of this package wrap one of these; match them with [errors.Is].
var (
	// ErrInvalidLayout: the description of a layout breaks a rule, or a layout that can only decode was to
	// issue.
	ErrInvalidLayout = errors.New("snowflake: invalid layout")

	// ErrExhausted: the time field of the layout has no tick left for the instant in question, and never will
	// have one again.
	ErrExhausted = errors.New("snowflake: time field exhausted")

	// ErrOutOfRange: a number does not fit: a value in its field, an ID in its layout, or decoded text in 64
	// bits.
	ErrOutOfRange = errors.New("snowflake: out of range")

	// ErrSyntax: a text does not have the form that its parser expects.
	ErrSyntax = errors.New("snowflake: malformed text")
)
