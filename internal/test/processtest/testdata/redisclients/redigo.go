package main

import (
	"context"

	"github.com/gomodule/redigo/redis"
)

type redigoClient struct{ *redis.Pool }

func openRedigo(s settings) (client, error) {
	options := []redis.DialOption{redis.DialPassword(s.password)}
	if s.tls != nil {
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(s.tls))
	}
	p := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		if s.dial == nil {
			return redis.DialContext(ctx, "tcp", s.address, options...)
		}
		conn, err := s.dial(ctx)
		if err != nil {
			return nil, err
		}
		return redis.NewConn(conn, 0, 0), nil
	}}
	return redigoClient{p}, nil
}

func (c redigoClient) call(ctx context.Context, name string, args ...any) (any, error) {
	conn, err := c.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(name, args...)
}

func (c redigoClient) incr(ctx context.Context, key string) (int64, error) {
	return redis.Int64(c.call(ctx, "INCR", key))
}

func (c redigoClient) incrBy(ctx context.Context, key string, n int64) (int64, error) {
	return redis.Int64(c.call(ctx, "INCRBY", key, n))
}

func (c redigoClient) get(ctx context.Context, key string) (string, error) {
	return redis.String(c.call(ctx, "GET", key))
}

func (c redigoClient) pipeline(ctx context.Context, key string) ([]int64, error) {
	conn, err := c.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.Send("MULTI")
	for range 3 {
		_ = conn.Send("INCR", key)
	}
	return redis.Int64s(conn.Do("EXEC"))
}

func (c redigoClient) do(ctx context.Context, args ...string) (any, error) {
	return texts(c.call(ctx, args[0], words(args[1:])...))
}

// texts makes strings of bytes, which JSON would encode.
func texts(answer any, err error) (any, error) {
	switch answer := answer.(type) {
	case []byte:
		return string(answer), err
	case []any:
		for i := range answer {
			answer[i], _ = texts(answer[i], nil)
		}
	}
	return answer, err
}
