package frontend

import (
	"context"
	"io"
	"strconv"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// Process is the member or gateway behind a Server, without its source of IDs and numbers and its gRPC services.
type Process interface {
	// Exists and Create are defined by redis.Backend.
	Exists(ctx context.Context, sequence string) (bool, error)
	Create(ctx context.Context, sequence string) (created bool, err error)
	Info() redis.Info
	// Clock returns the time of the process, in Unix ms.
	Clock() int64
	// Failure returns the reason why the process has become unusable; nil while it is usable.
	Failure() error
}

// Rules of the gRPC methods that correspond to the calls of other protocols.
var (
	existsRule = rpc.RuleOf(snowraftv1.SequenceService_GetSequence_FullMethodName)
	createRule = rpc.RuleOf(snowraftv1.SequenceService_CreateSequence_FullMethodName)
)

// redisBackend implements [redis.Backend] by a kernel. Its errors are gRPC statuses.
type redisBackend struct {
	Process
	kernel *kernel.Kernel
}

// Next issues count numbers of a sequence.
func (b redisBackend) Next(ctx context.Context, sequence string, count uint64) (redis.Numbers, error) {
	n, err := b.kernel.Next(ctx, sequence, count, "")
	return redis.Numbers{First: n.First, Increment: n.Increment, Strict: n.Strict}, err
}

// Number issues count numbers of a sequence, with their texts.
func (b redisBackend) Number(ctx context.Context, sequence string, count uint64, of redis.Period) (redis.Numbering, error) {
	n, err := b.kernel.NextOf(ctx, sequence, count, kernel.PeriodRequest{Period: of.Name, From: of.From})
	if err != nil {
		return redis.Numbering{}, err
	}
	return redis.Numbering{Numbers: redis.Numbers{First: n.First, Increment: n.Increment, Strict: n.Strict}, Period: n.Day(), Append: n.Append}, nil
}

// TryNext issues count numbers of a relaxed sequence if the numbers are in memory.
func (b redisBackend) TryNext(ctx context.Context, sequence string, count uint64) (redis.Numbers, bool) {
	n, ok := b.kernel.TryNext(ctx, sequence, count)
	return redis.Numbers{First: n.First, Increment: n.Increment, Strict: n.Strict}, ok
}

// Last returns the last issued number.
func (b redisBackend) Last(ctx context.Context, sequence string) (int64, bool, error) {
	return b.kernel.Last(ctx, sequence)
}

// Ids appends count IDs of a layout.
func (b redisBackend) Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error) {
	taken, err := b.kernel.TakeIDs(ctx, layout, count)
	if err != nil {
		return dst, err
	}
	defer taken.Free()
	for id := range taken.Each {
		dst = append(dst, id)
	}
	return dst, nil
}

// Exists reports whether a sequence exists.
func (b redisBackend) Exists(ctx context.Context, sequence string) (bool, error) {
	err := trust.PrincipalOf(ctx).Authorize(existsRule.GetRight(), sequence)
	if err != nil {
		return false, wire.Status(err)
	}
	ok, err := b.Process.Exists(ctx, sequence)
	return ok, wire.Status(err)
}

// Create creates a sequence if the configuration of the cluster lets an INCR create it.
func (b redisBackend) Create(ctx context.Context, sequence string) (bool, error) {
	if err := createRule.CheckSecrets(&snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence}}); err != nil {
		return false, err
	}
	var index trust.Index
	created, err := b.Process.Create(trust.WithIndex(ctx, &index), sequence)
	if created || err != nil {
		b.kernel.AuditCreation(ctx, sequence, index.Load(), err)
	}
	return created, wire.Status(err)
}

// webBackend implements [web.Backend].
type webBackend struct{ redisBackend }

// Upper bounds for the memory of one ID or number while an answer is written, in bytes.
const (
	idBytes     = 24
	numberBytes = 40
)

// reserve takes memory for a long answer, if the caller has a right.
func reserve(ctx context.Context, right, resource string, size int64) error {
	if size < minReserved {
		return nil
	}
	if err := trust.PrincipalOf(ctx).Authorize(right, resource); err != nil {
		return wire.Status(err)
	}
	return during(ctx, size)
}

// Next issues count numbers of a sequence. A count of 0 only checks the caller's right.
func (b webBackend) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	if count == 0 {
		return 0, 0, wire.Status(trust.PrincipalOf(ctx).Authorize(trust.RightNextNumbers, sequence))
	}
	if err := reserve(ctx, trust.RightNextNumbers, sequence, int64(count)*numberBytes); err != nil { //nolint:gosec // at most limits.Texts
		return 0, 0, err
	}
	n, err := b.kernel.Next(ctx, sequence, count, "")
	return n.First, n.Increment, err
}

// AppendNext appends count numbers as text, one per line. It flushes long text to w in pieces.
func (b webBackend) AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64, requestID string) ([]byte, error) {
	n, err := b.kernel.Next(ctx, sequence, count, requestID)
	if err != nil {
		return dst, err
	}
	gone := false
	for i := uint64(0); i < n.Count && !gone; i++ {
		dst, err = web.Flush(w, append(n.Append(dst, i), '\n'))
		gone = err != nil // the numbers are lost
	}
	return dst, nil
}

// AppendIDs appends count IDs of a layout as text, one per line. It flushes long text to w in pieces.
func (b webBackend) AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) (_ []byte, err error) {
	if err := reserve(ctx, trust.RightIssueIDs, kernel.LayoutName(layout), int64(count)*idBytes); err != nil {
		return dst, err
	}
	taken, err := b.kernel.TakeIDs(ctx, layout, count)
	if err != nil {
		return dst, err
	}
	defer taken.Free()
	for id := range taken.Each {
		if dst, err = web.Flush(w, append(strconv.AppendUint(dst, id, 10), '\n')); err != nil {
			return dst, nil // the reader is gone; the IDs are lost
		}
	}
	return dst, nil
}

var (
	_ redis.Backend = redisBackend{}
	_ web.Backend   = webBackend{}
)
