package redis_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server/redis"
)

// start serves a backend on loopback until the test ends.
func start(tb testing.TB, cfg redis.Config) (*redis.Server, string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := redis.New(cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			tb.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return s, l.Addr().String()
}
