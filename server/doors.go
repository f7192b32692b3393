package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/server/web"
)

// issuing gives out IDs and numbers.
type issuing interface {
	// next gives out count numbers, at most limits.Count. The error need not be one that travels.
	next(ctx context.Context, sequence string, count uint64, requestID string) (member.Numbering, error)
	// take appends count IDs of a layout to ids.
	take(ctx context.Context, ids []allocator.Range, layout string, count uint32) ([]allocator.Range, error)
}

// doors is what the faces other than gRPC need of those who issue; see redis.Backend and
// web.Backend. Its errors are those that travel.
type doors struct {
	from    issuing
	metrics *metrics
}

// memberDoors is doors of a member, and what else these faces need of it.
type memberDoors struct {
	doors
	s *Server
}

// Next gives out count numbers of a sequence.
func (d doors) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, err := d.from.next(ctx, sequence, count, "")
	return n.First, n.Increment, toStatus(err)
}

// TryNext gives out count numbers of a relaxed sequence if they are in memory.
func (d memberDoors) TryNext(sequence string, count uint64) (first, increment int64, ok bool) {
	if checkNext(count, "") != nil {
		return 0, 0, false
	}
	n, ok := d.s.member.TryNext(sequence, count)
	if ok {
		d.s.metrics.numbers.Add(float64(count))
	}
	return n.First, n.Increment, ok
}

// AppendNext appends count numbers as text, each with a newline, long text by pieces.
func (d doors) AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, err := d.from.next(ctx, sequence, count, "")
	if err != nil {
		return dst, toStatus(err)
	}
	for i := range n.Count {
		if dst, err = web.Flush(w, append(n.Append(dst, i), '\n')); err != nil {
			break // whoever asked is gone, and the numbers are theirs
		}
	}
	return dst, nil
}

// Last is the last number given out.
func (d memberDoors) Last(ctx context.Context, sequence string) (int64, bool, error) {
	last, ok, err := d.s.last(ctx, sequence)
	return last, ok, toStatus(err)
}

// Exists reports whether there is such a sequence.
func (d memberDoors) Exists(ctx context.Context, sequence string) (bool, error) {
	err := d.s.hold(ctx, func() error {
		_, err := d.s.member.Sequence(ctx, sequence)
		return err
	}, leaderless)
	if _, unknown := errors.AsType[*member.UnknownSequenceError](err); unknown {
		return false, nil
	}
	return err == nil, toStatus(err)
}

// Create creates a sequence that starts at 1, unless there is one of that name.
func (d memberDoors) Create(ctx context.Context, sequence string, strict bool) error {
	req := creation(sequence, strict)
	reply, err := d.s.atLeader(ctx, snowraftv1.SequenceService_CreateSequence_FullMethodName, req, func(ctx context.Context, _ any) (any, error) {
		return (&sequenceService{s: d.s}).CreateSequence(ctx, req)
	})
	if rpc.FromError(toStatus(err)).Reason == rpc.SequenceExists {
		// Created meanwhile, as somebody else likes it; this member may not know it yet.
		if _, ok := d.s.member.State().Sequence(sequence); ok {
			return nil
		}
		return &rpc.Error{Code: codes.Aborted, Reason: rpc.SequenceChanged, RetryAfter: rpc.RetrySoon,
			Message: fmt.Sprintf("sequence %q is being created: try again", sequence)}
	}
	if created, ok := reply.(*snowraftv1.CreateSequenceResponse); ok && err == nil {
		// The generation is its place in the log, which this member may not have got to yet.
		err = d.s.member.State().AwaitApplied(ctx, created.GetSequence().GetGeneration())
	}
	return toStatus(err)
}

// Ids appends count IDs of a layout.
func (d doors) Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error) {
	scratch := ranges.Get().(*[]allocator.Range)
	defer ranges.Put(scratch)
	if err := d.take(ctx, scratch, layout, count); err != nil {
		return dst, err
	}
	for _, r := range *scratch {
		for id := range r.All() {
			dst = append(dst, id)
		}
	}
	return dst, nil
}

// AppendIDs appends count IDs of a layout as text, each with a newline, long text by pieces.
func (d doors) AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) ([]byte, error) {
	scratch := ranges.Get().(*[]allocator.Range)
	defer ranges.Put(scratch)
	if err := d.take(ctx, scratch, layout, count); err != nil {
		return dst, err
	}
	for _, r := range *scratch {
		for id := range r.All() {
			var err error
			if dst, err = web.Flush(w, append(strconv.AppendUint(dst, id, 10), '\n')); err != nil {
				return dst, nil // whoever asked is gone, and the IDs are theirs
			}
		}
	}
	return dst, nil
}

// take puts count IDs of a layout in place of what is in ids.
func (d doors) take(ctx context.Context, ids *[]allocator.Range, layout string, count uint32) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var err error
	if *ids, err = d.from.take(ctx, (*ids)[:0], layout, count); err != nil {
		return toStatus(err)
	}
	d.metrics.issued(count)
	return nil
}

func (s *Server) take(ctx context.Context, ids []allocator.Range, layout string, count uint32) ([]allocator.Range, error) {
	issuer, err := s.member.Issuer(ctx, layout)
	if err != nil {
		return ids, err
	}
	return issuer.Take(ctx, ids, count, 0)
}

// Failure is why the member must not go on.
func (d memberDoors) Failure() error { return d.s.Failure() }

// Info describes the member to Redis clients.
func (d memberDoors) Info() redis.Info {
	node := d.s.member.Node()
	info := redis.Info{
		Member: d.s.cfg.Name, MemberID: node.ID(), ClusterID: node.ClusterID(), Version: d.s.cfg.Version,
		Role: "follower", Uptime: time.Duration(d.s.member.Clock().Now().Mono) * time.Millisecond,
	}
	if node.IsLeader() {
		info.Role = "leader"
	}
	if leader, ok := node.Leader(); ok {
		info.Leader = leader.Name
	}
	return info
}

var _ backend = memberDoors{}
