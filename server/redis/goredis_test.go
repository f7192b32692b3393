//go:build redisclients

package redis_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/redis"
)

// goClient returns a go-redis client with default settings.
func goClient(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestGoRedis(t *testing.T) {
	t.Parallel()
	_, addr := start(t, redis.Config{Backend: &fake{}})
	c, ctx := goClient(t, addr), t.Context()
	if err := c.Ping(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	for want := int64(1); want < 4; want++ {
		if got, err := c.Incr(ctx, "orders").Result(); got != want || err != nil {
			t.Errorf("INCR: got %d, %v, want %d", got, err, want)
		}
	}
	if got, err := c.IncrBy(ctx, "orders", 7).Result(); got != 10 || err != nil {
		t.Errorf("INCRBY: got %d, %v", got, err)
	}
	if got, err := c.Get(ctx, "orders").Int64(); got != 10 || err != nil {
		t.Errorf("GET: got %d, %v", got, err)
	}
	if err := c.Get(ctx, "nosuch").Err(); !errors.Is(err, goredis.Nil) {
		t.Errorf("GET of no sequence: got %v", err)
	}
	if got, err := c.Exists(ctx, "orders", "nosuch", "orders").Result(); got != 2 || err != nil {
		t.Errorf("EXISTS: got %d, %v", got, err)
	}
	if got, err := c.Do(ctx, "SNOWRAFT.ID", "COUNT", 3).Int64Slice(); !slices.Equal(got, []int64{1, 2, 3}) || err != nil {
		t.Errorf("SNOWRAFT.ID: got %v, %v", got, err)
	}
	if got, err := c.Do(ctx, "SNOWRAFT.NEXT", "orders", "PERIOD", "2026-10", "FROM", 5).StringSlice(); !slices.Equal(got, []string{"5", "L-5", "2026-10"}) || err != nil {
		t.Errorf("SNOWRAFT.NEXT: got %v, %v", got, err)
	}
	if _, err := c.Time(ctx).Result(); err != nil {
		t.Errorf("TIME: %v", err)
	}
	if all, err := c.Command(ctx).Result(); err != nil || all["incr"] == nil || all["incr"].FirstKeyPos != 1 {
		t.Errorf("COMMAND: got %v, %v", all, err)
	}
	if info, err := c.ClientInfo(ctx).Result(); err != nil || info.ID == 0 {
		t.Errorf("CLIENT INFO: got %v, %v", info, err)
	}
	if info, err := c.InfoMap(ctx, "replication").Result(); err != nil || info["Replication"]["role"] != "master" {
		t.Errorf("INFO: got %v, %v", info, err)
	}
	if err := c.Set(ctx, "orders", 1, 0).Err(); err == nil {
		t.Error("SET is served")
	}
	if cmds, err := c.TxPipelined(ctx, func(p goredis.Pipeliner) error { return p.Incr(ctx, "tx").Err() }); err != nil || cmds[0].(*goredis.IntCmd).Val() != 1 {
		t.Errorf("MULTI: got %v, %v", cmds, err)
	}
	if got, err := c.Incr(ctx, "orders").Result(); got != 11 || err != nil {
		t.Errorf("INCR after refused commands: got %d, %v", got, err)
	}
}

func TestGoRedisPipeline(t *testing.T) {
	t.Parallel()
	f := &fake{}
	_, addr := start(t, redis.Config{Backend: f})
	c, ctx := goClient(t, addr), t.Context()
	const count = 1000
	cmds, err := c.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for range count {
			p.Incr(ctx, "orders")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, cmd := range cmds {
		if got := cmd.(*goredis.IntCmd).Val(); got != int64(i)+1 {
			t.Fatalf("answer %d is %d", i, got)
		}
	}
	if n := f.nexts.Load(); n > count/10 {
		t.Errorf("%d calls of the backend for one pipeline", n)
	}
}

// go-redis retries after transient errors only.
func TestGoRedisRetries(t *testing.T) {
	t.Parallel()
	var fails atomic.Int64
	reply := atomic.Pointer[rpc.Error]{}
	f := &fake{before: func(context.Context, string, string) error {
		if fails.Add(-1) >= 0 {
			return reply.Load()
		}
		return nil
	}}
	f.add("orders", 1, 1, -1, true)
	_, addr := start(t, redis.Config{Backend: f})
	c, ctx := goClient(t, addr), t.Context()
	var want int64
	for _, e := range []*rpc.Error{
		{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader is known"},
		{Code: codes.Unknown, Reason: rpc.CommitUnknown, Message: "no word of it"},
		{Code: codes.Unavailable, Reason: rpc.ShuttingDown, Message: "the member shuts down"},
	} {
		reply.Store(e)
		fails.Store(2)
		want++
		if got, err := c.Incr(ctx, "orders").Result(); got != want || err != nil {
			t.Errorf("after %s twice: got %d, %v, want %d", e.Reason, got, err, want)
		}
	}
	reply.Store(&rpc.Error{Code: codes.FailedPrecondition, Message: "never"})
	fails.Store(2)
	if err := c.Incr(ctx, "orders").Err(); err == nil || fails.Load() != 1 {
		t.Errorf("after a permanent error: got %v, and %d failures left", err, fails.Load())
	}
}

// After a member stops, the client continues with another member, here the next one at the same address.
func TestGoRedisSurvivesRestart(t *testing.T) {
	t.Parallel()
	f := &fake{}
	l := listen(t, "127.0.0.1:0")
	s := newServer(redis.Config{Backend: f})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c, ctx := goClient(t, l.Addr().String()), t.Context()
	if got, err := c.Incr(ctx, "orders").Result(); got != 1 || err != nil {
		t.Fatalf("got %d, %v", got, err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	startOn(t, redis.Config{Backend: f}, listen(t, l.Addr().String()))
	if got, err := c.Incr(ctx, "orders").Result(); got != 2 || err != nil {
		t.Errorf("after a restart: got %d, %v", got, err)
	}
}
