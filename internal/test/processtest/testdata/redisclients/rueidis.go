package main

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"
)

type rueidisClient struct{ rueidis.Client }

func openRueidis(s settings) (client, error) {
	o := rueidis.ClientOption{InitAddress: []string{s.address}, Password: s.password, TLSConfig: s.tls}
	if s.dial != nil {
		o.DialCtxFn = func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.dial(ctx)
		}
	}
	c, err := rueidis.NewClient(o)
	return rueidisClient{c}, err
}

func (c rueidisClient) incr(ctx context.Context, key string) (int64, error) {
	return c.Do(ctx, c.B().Incr().Key(key).Build()).AsInt64()
}

func (c rueidisClient) incrBy(ctx context.Context, key string, n int64) (int64, error) {
	return c.Do(ctx, c.B().Incrby().Key(key).Increment(n).Build()).AsInt64()
}

func (c rueidisClient) get(ctx context.Context, key string) (string, error) {
	return c.Do(ctx, c.B().Get().Key(key).Build()).ToString()
}

func (c rueidisClient) pipeline(ctx context.Context, key string) (all []int64, err error) {
	var cmds rueidis.Commands
	for range 3 {
		cmds = append(cmds, c.B().Incr().Key(key).Build())
	}
	for _, answer := range c.DoMulti(ctx, cmds...) {
		n, failed := answer.AsInt64()
		if failed != nil {
			err = failed
		}
		all = append(all, n)
	}
	return all, err
}

func (c rueidisClient) do(ctx context.Context, args ...string) (any, error) {
	return c.Do(ctx, c.B().Arbitrary(args...).Build()).ToAny()
}

type valkeyClient struct{ valkey.Client }

func openValkey(s settings) (client, error) {
	o := valkey.ClientOption{InitAddress: []string{s.address}, Password: s.password, TLSConfig: s.tls}
	if s.dial != nil {
		o.DialCtxFn = func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return s.dial(ctx)
		}
	}
	c, err := valkey.NewClient(o)
	return valkeyClient{c}, err
}

func (c valkeyClient) incr(ctx context.Context, key string) (int64, error) {
	return c.Do(ctx, c.B().Incr().Key(key).Build()).AsInt64()
}

func (c valkeyClient) incrBy(ctx context.Context, key string, n int64) (int64, error) {
	return c.Do(ctx, c.B().Incrby().Key(key).Increment(n).Build()).AsInt64()
}

func (c valkeyClient) get(ctx context.Context, key string) (string, error) {
	return c.Do(ctx, c.B().Get().Key(key).Build()).ToString()
}

func (c valkeyClient) pipeline(ctx context.Context, key string) (all []int64, err error) {
	var cmds valkey.Commands
	for range 3 {
		cmds = append(cmds, c.B().Incr().Key(key).Build())
	}
	for _, answer := range c.DoMulti(ctx, cmds...) {
		n, failed := answer.AsInt64()
		if failed != nil {
			err = failed
		}
		all = append(all, n)
	}
	return all, err
}

func (c valkeyClient) do(ctx context.Context, args ...string) (any, error) {
	return c.Do(ctx, c.B().Arbitrary(args...).Build()).ToAny()
}
