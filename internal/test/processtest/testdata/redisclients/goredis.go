package main

import (
	"context"
	"net"

	goredis8 "github.com/go-redis/redis/v8"
	"github.com/redis/go-redis/v9"
)

type goRedis9 struct{ *redis.Client }

func openGoRedis9(s settings) (client, error) {
	o := &redis.Options{Addr: s.address, Password: s.password, TLSConfig: s.tls}
	if s.dial != nil {
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) }
	}
	return goRedis9{redis.NewClient(o)}, nil
}

func (c goRedis9) incr(ctx context.Context, key string) (int64, error) {
	return c.Incr(ctx, key).Result()
}

func (c goRedis9) incrBy(ctx context.Context, key string, n int64) (int64, error) {
	return c.IncrBy(ctx, key, n).Result()
}

func (c goRedis9) get(ctx context.Context, key string) (string, error) {
	return c.Get(ctx, key).Result()
}

func (c goRedis9) pipeline(ctx context.Context, key string) (all []int64, err error) {
	cmds, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for range 3 {
			p.Incr(ctx, key)
		}
		return nil
	})
	for _, cmd := range cmds {
		all = append(all, cmd.(*redis.IntCmd).Val())
	}
	return all, err
}

func (c goRedis9) do(ctx context.Context, args ...string) (any, error) {
	return c.Do(ctx, words(args)...).Result()
}

type goRedis8 struct{ *goredis8.Client }

func openGoRedis8(s settings) (client, error) {
	o := &goredis8.Options{Addr: s.address, Password: s.password, TLSConfig: s.tls}
	if s.dial != nil {
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) }
	}
	return goRedis8{goredis8.NewClient(o)}, nil
}

func (c goRedis8) incr(ctx context.Context, key string) (int64, error) {
	return c.Incr(ctx, key).Result()
}

func (c goRedis8) incrBy(ctx context.Context, key string, n int64) (int64, error) {
	return c.IncrBy(ctx, key, n).Result()
}

func (c goRedis8) get(ctx context.Context, key string) (string, error) {
	return c.Get(ctx, key).Result()
}

func (c goRedis8) pipeline(ctx context.Context, key string) (all []int64, err error) {
	cmds, err := c.TxPipelined(ctx, func(p goredis8.Pipeliner) error {
		for range 3 {
			p.Incr(ctx, key)
		}
		return nil
	})
	for _, cmd := range cmds {
		all = append(all, cmd.(*goredis8.IntCmd).Val())
	}
	return all, err
}

func (c goRedis8) do(ctx context.Context, args ...string) (any, error) {
	return c.Do(ctx, words(args)...).Result()
}

func words(args []string) (all []any) {
	for _, arg := range args {
		all = append(all, arg)
	}
	return all
}
