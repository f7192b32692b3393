package main

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"

	"github.com/mediocregopher/radix/v4"
)

type radixClient struct{ radix.Client }

// netDialer makes the connections of radix.
type netDialer func(ctx context.Context) (net.Conn, error)

func (d netDialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) { return d(ctx) }

func openRadix(s settings) (client, error) {
	d := radix.Dialer{AuthPass: s.password, Protocol: "3"}
	switch {
	case s.dial != nil:
		d.NetDialer = netDialer(s.dial)
	case s.tls != nil:
		d.NetDialer = &tls.Dialer{Config: s.tls}
	}
	ctx := context.Background()
	c, err := (radix.PoolConfig{Dialer: d}).New(ctx, "tcp", s.address)
	return radixClient{c}, err
}

func (c radixClient) incr(ctx context.Context, key string) (n int64, err error) {
	err = c.Do(ctx, radix.Cmd(&n, "INCR", key))
	return n, err
}

func (c radixClient) incrBy(ctx context.Context, key string, by int64) (n int64, err error) {
	err = c.Do(ctx, radix.Cmd(&n, "INCRBY", key, strconv.FormatInt(by, 10)))
	return n, err
}

func (c radixClient) get(ctx context.Context, key string) (last string, err error) {
	err = c.Do(ctx, radix.Cmd(&last, "GET", key))
	return last, err
}

func (c radixClient) pipeline(ctx context.Context, key string) ([]int64, error) {
	all, p := make([]int64, 3), radix.NewPipeline()
	for i := range all {
		p.Append(radix.Cmd(&all[i], "INCR", key))
	}
	return all, c.Do(ctx, p)
}

func (c radixClient) do(ctx context.Context, args ...string) (any, error) {
	var all []string
	err := c.Do(ctx, radix.Cmd(&all, args[0], args[1:]...))
	return all, err
}
