package redis

import (
	"context"
	"time"
)

// Backend is the part of a member that the Redis protocol needs. It is called from many
// goroutines. Its errors are read with rpc.FromError.
type Backend interface {
	// Next issues count numbers of a sequence, 1 to 1,000,000: first,
	// first+increment, and so on. Reason UNKNOWN_SEQUENCE if there is no such
	// sequence, SEQUENCE_EXHAUSTED if it has fewer than count left, of which none
	// is then issued.
	Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error)
	// TryNext is Next if that would not wait, as when the numbers are in memory. It
	// issues none if not ok, for whatever reason, which Next returns.
	TryNext(ctx context.Context, sequence string, count uint64) (first, increment int64, ok bool)
	// Last is the last number issued, if there is one; of a strict sequence
	// linearizably. Reason UNKNOWN_SEQUENCE if there is no such sequence.
	Last(ctx context.Context, sequence string) (last int64, ok bool, err error)
	// Exists reports whether there is such a sequence.
	Exists(ctx context.Context, sequence string) (bool, error)
	// Create creates a sequence that starts at 1, if the cluster's configuration lets an INCR do that. A sequence that
	// exists counts as created.
	Create(ctx context.Context, sequence string) (created bool, err error)
	// Ids appends count IDs of a layout to dst, 1 to 1,000,000; "" is the default layout.
	Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error)
	// Info describes the member.
	Info() Info
}

// Info is the information about a member in INFO and HELLO.
type Info struct {
	Member    string // its name
	MemberID  string
	ClusterID string
	Version   string // of Snowraft
	Role      string // "leader" or "follower"
	Leader    string // the leader's name; empty: none is known
	Uptime    time.Duration
}
