package snowflake

import "errors"

// The errors of this package wrap one of these; match them with [errors.Is].
var (
	// ErrInvalidLayout reports that the description of a layout breaks a rule, or that a layout can only decode
	// and not issue.
	ErrInvalidLayout = errors.New("snowflake: invalid layout")

	// ErrExhausted reports that the time field of a layout has no tick for an instant or any later one.
	ErrExhausted = errors.New("snowflake: time field exhausted")

	// ErrOutOfRange reports that a number does not fit: a value in its field, an ID in its layout or in a UUID, a
	// UUID in a layout, or decoded text in 64 bits.
	ErrOutOfRange = errors.New("snowflake: out of range")

	// ErrSyntax reports that a text does not have the form that its parser expects.
	ErrSyntax = errors.New("snowflake: malformed text")
)
