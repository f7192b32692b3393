package kernel

import (
	"context"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/route"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// memberSource issues from a member's lanes and blocks. The leader issues the numbers of strict sequences.
type memberSource struct {
	member *member.Member
	router *route.Router
	acting func(ctx context.Context) (context.Context, error)
}

// FromMember returns the source of a member. acting returns the context in which the caller of an admitted call is the actor of
// proposals.
func FromMember(m *member.Member, r *route.Router, acting func(ctx context.Context) (context.Context, error)) Source {
	return memberSource{m, r, acting}
}

func (s memberSource) TryTake(ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, uint32) {
	issuer := s.member.OpenIssuer(layout)
	if issuer == nil {
		return ids, count
	}
	return issuer.TryTake(ids, count, after)
}

func (s memberSource) Take(ctx context.Context, ids []allocator.Range, layout string, count uint32, after uint64) ([]allocator.Range, error) {
	issuer, err := s.member.Issuer(ctx, layout)
	if err != nil {
		return ids, err
	}
	return issuer.Take(ctx, ids, count, after)
}

func (s memberSource) UUIDs(ctx context.Context, layout string, count uint32) ([]string, error) {
	l, err := s.member.Layout(ctx, layout)
	if err != nil {
		return nil, err
	}
	cluster := s.member.Node().ClusterID()
	if cluster == "" { // the cluster ID distinguishes this cluster's UUIDs
		return nil, s.member.NoLeader()
	}
	t := takings.Get().(*Taking)
	defer t.Free()
	if t.IDs, err = s.Take(ctx, t.IDs, l.Name(), count, 0); err != nil {
		return nil, err
	}
	return writeUUIDs(t.IDs, count, l, snowflake.NewUUIDTag(cluster, l.Name()))
}

// Next makes a request with an ID a proposal of its caller.
func (s memberSource) Next(ctx context.Context, sequence string, count uint64, requestID string) (n member.Numbering, err error) {
	if requestID != "" {
		if ctx, err = s.acting(ctx); err != nil {
			return n, err
		}
	}
	if trust.RelayOf(ctx) != "" {
		return s.member.NextAtLeader(ctx, sequence, count, requestID)
	}
	return s.router.Next(ctx, sequence, count, requestID)
}

func (s memberSource) TryNext(sequence string, count uint64) (member.Numbering, bool) {
	return s.member.TryNext(sequence, count)
}

func (s memberSource) Last(ctx context.Context, sequence string) (int64, bool, error) {
	if trust.RelayOf(ctx) != "" {
		return s.member.LastAtLeader(ctx, sequence)
	}
	return s.router.Last(ctx, sequence)
}
