package redis_test

import (
	"context"
	"errors"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/trust"
)

// judging is a Backend that checks its callers' rights, like a member's Backend.
type judging struct{ *fake }

func judge(ctx context.Context, right, resource string) error {
	err := trust.PrincipalOf(ctx).Authorize(right, resource)
	if denied, ok := errors.AsType[*trust.Denied](err); ok && denied.Unauthenticated {
		return rpc.NewError(rpc.Unauthenticated, denied.Detail)
	} else if ok {
		return rpc.NewError(rpc.PermissionDenied, denied.Detail)
	}
	return nil
}

func (j judging) Next(ctx context.Context, sequence string, count uint64) (redis.Numbers, error) {
	if err := judge(ctx, trust.RightNextNumbers, sequence); err != nil {
		return redis.Numbers{}, err
	}
	return j.fake.Next(ctx, sequence, count)
}

func (j judging) TryNext(ctx context.Context, sequence string, count uint64) (redis.Numbers, bool) {
	if judge(ctx, trust.RightNextNumbers, sequence) != nil {
		return redis.Numbers{}, false
	}
	return j.fake.TryNext(ctx, sequence, count)
}

func (j judging) Number(ctx context.Context, sequence string, count uint64, of redis.Period) (redis.Numbering, error) {
	if err := judge(ctx, trust.RightNextNumbers, sequence); err != nil {
		return redis.Numbering{}, err
	}
	return j.fake.Number(ctx, sequence, count, of)
}

func (j judging) Last(ctx context.Context, sequence string) (int64, bool, error) {
	if err := judge(ctx, trust.RightReadSequence, sequence); err != nil {
		return 0, false, err
	}
	return j.fake.Last(ctx, sequence)
}

func (j judging) Exists(ctx context.Context, sequence string) (bool, error) {
	if err := judge(ctx, trust.RightReadSequence, sequence); err != nil {
		return false, err
	}
	return j.fake.Exists(ctx, sequence)
}

func (j judging) Create(ctx context.Context, sequence string) (bool, error) {
	if err := judge(ctx, trust.RightAdminSequence, sequence); err != nil {
		return false, err
	}
	return j.fake.Create(ctx, sequence)
}

func (j judging) Ids(ctx context.Context, dst []uint64, layout string, count uint32) ([]uint64, error) {
	if layout == "" {
		layout = "default"
	}
	if err := judge(ctx, trust.RightIssueIDs, layout); err != nil {
		return dst, err
	}
	return j.fake.Ids(ctx, dst, layout, count)
}

var scopes = []trust.Scope{
	"ids:issue:default", "ids:issue:*", "seq:next:orders/*", "seq:next:other", "seq:read:orders/*", "seq:admin:*", "worker:lease:*",
	"metrics:read", "cluster:read", "cluster:admin", "tokens:admin", "tokens:verify",
}

func startJudging(t *testing.T, ts *tokens) string {
	t.Helper()
	f := &fake{}
	f.add("orders/a", 1, 1, -1, true)
	f.add("orders/b", 1, 1, -1, false)
	_, addr := start(t, redis.Config{Backend: judging{f}, Authenticate: trust.NewAuthorizer(ts).Authenticate})
	return addr
}
