package client_test

import (
	"context"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/snowraft/snowraft/server"
)

// startMember starts a cluster of one in this process, so that an example runs.
func startMember() (addrs []string, stop func()) {
	dir, err := os.MkdirTemp("", "snowraft")
	if err != nil {
		log.Fatal(err)
	}
	member, err := server.Open(context.Background(), server.Config{
		Name: "m1", DataDir: dir, Version: "test", BootstrapExpect: 1, Logger: slog.New(slog.DiscardHandler),
		APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
	})
	if err != nil {
		log.Fatal(err)
	}
	for member.Ready() != nil {
		time.Sleep(time.Millisecond) // until it has bootstrapped its cluster
	}
	return []string{member.APIAddr()}, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := member.Close(ctx); err != nil {
			log.Print(err)
		}
		_ = os.RemoveAll(dir)
	}
}
