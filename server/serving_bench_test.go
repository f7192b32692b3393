package server_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// BenchmarkServing serves until a signal stops it: a server with an empty method, or a member. Calls come from another process,
// so that a profile shows only the server:
//
//	SNOWRAFT_SERVING=1 go test ./server -run '^$' -bench Serving/member -benchtime 1x -timeout 0 -cpuprofile cpu.out
func BenchmarkServing(b *testing.B) {
	if os.Getenv("SNOWRAFT_SERVING") == "" {
		b.Skip("set SNOWRAFT_SERVING to serve until SIGTERM")
	}
	for _, of := range []struct {
		name  string
		start func(b *testing.B) (address string)
	}{
		{"empty", func(b *testing.B) string { return startEcho(b) }},
		{"member", func(b *testing.B) string { return startCluster(b, 1)[0].server.APIAddr() }},
	} {
		b.Run(of.name, func(b *testing.B) {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			fmt.Fprintln(os.Stdout, "serving at", of.start(b))
			<-ctx.Done()
		})
	}
}
