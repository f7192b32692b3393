package redis

import (
	"context"
	"time"
)

// Backend is the part of a member that the Redis protocol needs. Many goroutines call it. Its errors can be read with
// rpc.FromError.
type Backend interface {
	// Next issues count numbers of a sequence, 1 to 1,000,000. It fails with reason
	// UNKNOWN_SEQUENCE if the sequence does not exist. It fails with SEQUENCE_EXHAUSTED, and issues no number, if the
	// sequence has fewer than count numbers left.
	Next(ctx context.Context, sequence string, count uint64) (Numbers, error)
	// TryNext does the same as Next if it need not wait, for example because the numbers are in memory. If ok is false, it
	// issued no number, and Next returns the reason.
	TryNext(ctx context.Context, sequence string, count uint64) (n Numbers, ok bool)
	// Number issues numbers as Next does, of a period if one is wanted, and returns them with their texts.
	Number(ctx context.Context, sequence string, count uint64, of Period) (Numbering, error)
	// Last returns the last issued number, if there is one; for a strict sequence the result is linearizable. It fails with
	// reason UNKNOWN_SEQUENCE if the sequence does not exist.
	Last(ctx context.Context, sequence string) (last int64, ok bool, err error)
	// Exists reports whether a sequence exists.
	Exists(ctx context.Context, sequence string) (bool, error)
	// Create creates a sequence that starts at 1, if the configuration of the cluster lets an INCR create it. It reports true
	// for an existing sequence.
	Create(ctx context.Context, sequence string) (created bool, err error)
	// Ids appends count IDs of a layout to dst, 1 to 1,000,000. The empty name selects the default layout.
	Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error)
	// Info describes the member.
	Info() Info
}

// Numbers are numbers of a sequence: First, First+Increment, and so on.
type Numbers struct {
	First, Increment int64
	Strict           bool // only the leader issues numbers of the sequence
}

// Part implements share.Divisible.
func (n Numbers) Part(skip, _ uint64) Numbers {
	n.First += int64(skip) * n.Increment //nolint:gosec // at most limits.Count
	return n
}

// Period is the period that a caller wants numbers of; zero: the present one.
type Period struct {
	Name string // first day of the period, or a shorter form that fits the reset
	From *int64 // next number of the period, which states the end of the period
}

// Numbering holds numbers of one period.
type Numbering struct {
	Numbers
	Period string                                // first day of the period, in the form 2026-11-22; empty without a reset
	Append func(dst []byte, index uint64) []byte // appends the number with an index as text
}

// Info is the information about a member in the answers to INFO and HELLO.
type Info struct {
	Member    string // name of the member
	MemberID  string
	ClusterID string
	Version   string // version of Snowraft
	Role      string // "leader" or "follower"
	Leader    string // name of the leader; empty if unknown
	Uptime    time.Duration
}
