// Package limits holds the numbers that several packages must agree on: the limits of one call, and
// the ranges and defaults of a cluster's configuration and of sequences. A number that one package
// alone uses stays in that package.
package limits

import "time"

// The limits of one call, over every protocol.
const (
	// Count is the greatest number of IDs or numbers per call. An answer in ranges is small, however
	// many IDs the ranges hold.
	Count = 1_000_000
	// Packed is the greatest number of IDs of an answer in packed form. At 8 bytes each, the answer stays below
	// the 4 MiB that gRPC clients accept by default.
	Packed = 500_000
	// Texts is the greatest number of IDs or numbers of an answer that holds each as text: UUIDs over gRPC,
	// plain text over HTTP, arrays over Redis. A UUID takes 38 bytes, so the answer stays below 4 MiB too.
	Texts = 100_000
	// Formatted is the greatest number of numbers of an answer that also holds each in the format of its sequence.
	Formatted = 1000
	// TextBytes is the length of the longest text to decode. No format writes a longer one.
	TextBytes = 512
	// RequestIDBytes is the length of the longest request ID.
	RequestIDBytes = 64
	// ReservationKeys is the greatest number of keys or claims of a call about reservations, ReservationKeyBytes the length
	// of the longest key, and ReasonBytes the length of the longest reason for which a number is void or taken.
	ReservationKeys     = 100
	ReservationKeyBytes = 128
	ReasonBytes         = 256
	// RequestBytes is the size of the largest request: a gRPC message, an HTTP body, a Redis command.
	RequestBytes = 64 << 10
	// BackfillRows is the greatest number of rows of a batch of a backfill: as many times as a request can have.
	BackfillRows = 10_000
	// BackfillWithin is the greatest time by which an ID of the past may be later than its row.
	BackfillWithin = 24 * time.Hour
	// CallTimeout is the time limit of a call without a deadline, in the server and in the Go client.
	CallTimeout = 10 * time.Second
	// AnswerBytes is the size of the largest answer that a client reads. A million IDs take that much
	// where a layout's sequence is so narrow that each range holds one or two.
	AnswerBytes = 64 << 20
	// AnswerWindow is the number of bytes of an answer that a client accepts before it reads any of them, and AnswersWindow
	// the number for all answers of a connection. Unless both are set, gRPC sends a ping per answer to measure the delay of
	// the connection.
	AnswerWindow  = 1 << 20
	AnswersWindow = 4 << 20
)

// Lanes and names.
const (
	// Lanes is the greatest number of workers that one process holds per layout.
	Lanes = 64
	// NameBytes is the length of the longest name of a holder or a sequence, and of a member's ID.
	NameBytes = 128
	// DescriptionBytes is the length of the longest text that describes the process of a holder.
	DescriptionBytes = 128
	// ProcessBytes is the length of the longest name of a process. Its lanes append at most "/63".
	ProcessBytes = NameBytes - len("/63")
	// ZoneBytes is the length of the longest name of a time zone.
	ZoneBytes = 64
)

// Limits of an API token.
const (
	// TokenScopes is the greatest number of scopes of a token, and ScopeBytes the length of the longest.
	TokenScopes = 64
	ScopeBytes  = 256
	// TokenRate is the greatest rate per second of a token, and the greatest burst.
	TokenRate = 1_000_000_000_000
)

// DefaultTokenWorkers is the default part of a layout's workers for one API token, in percent.
const DefaultTokenWorkers = 50

// The ranges of a cluster's configuration, both ends included, and its defaults.
const (
	MinWindow     = time.Second
	DefaultWindow = 10 * time.Minute
	MaxWindow     = 24 * time.Hour

	MinThreshold     = time.Millisecond
	DefaultThreshold = time.Second
	MaxThreshold     = time.Minute

	MinOffset     = time.Millisecond
	DefaultOffset = 500 * time.Millisecond
	MaxOffset     = time.Minute
)

// The range of the time that a nonvoter must be healthy before it becomes a voter, both ends included, and its default.
const (
	MinPromoteAfter     = time.Second
	DefaultPromoteAfter = 30 * time.Second
	MaxPromoteAfter     = 24 * time.Hour
)

// The ranges of a sequence's blocks, both ends included, and their defaults.
const (
	MinBlockDuration     = 100 * time.Millisecond
	DefaultBlockDuration = 10 * time.Second
	MaxBlockDuration     = time.Hour

	// DefaultMinBlock and DefaultMaxBlock are the default bounds of the numbers of a block.
	DefaultMinBlock = 100
	DefaultMaxBlock = 10_000_000
	// MaxBlock is the greatest value of either bound.
	MaxBlock = 100_000_000
)

// The range of the time in which the numbers of a period can be late, both ends included.
const (
	MinLate = time.Second
	MaxLate = 366 * 24 * time.Hour
)
