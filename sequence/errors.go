package sequence

import "errors"

// The errors of this package wrap one of these; match them with [errors.Is].
var (
	// ErrInvalidFormat reports that the text of a format breaks a rule, or that the format does not distinguish the
	// periods of a sequence.
	ErrInvalidFormat = errors.New("sequence: invalid format")

	// ErrInvalidText reports that a format did not write a text.
	ErrInvalidText = errors.New("sequence: invalid text")

	// ErrUnknownZone reports that a text is not the name of a time zone.
	ErrUnknownZone = errors.New("sequence: unknown time zone")

	// ErrInvalidYearStart reports that a text is not a day on which years can begin.
	ErrInvalidYearStart = errors.New("sequence: invalid start of years")

	// ErrInvalidPeriod reports that a text is not the first day of a period.
	ErrInvalidPeriod = errors.New("sequence: invalid period")
)
