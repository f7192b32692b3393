package server

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestOneMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := Open(ctx, Config{
		Name: "a", DataDir: t.TempDir(), APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: 1, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	conn, err := grpc.NewClient(s.APIAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for {
		resp, err := snowraftv1.NewIdServiceClient(conn).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 10})
		if err == nil {
			t.Log(resp)
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		t.Log(err)
		time.Sleep(100 * time.Millisecond)
	}
	st, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	t.Log(st, err)
}
