package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/frontend"
)

// numberCluster is a cluster in this process, for tests of sequences and buffers.
type numberCluster struct {
	t       testing.TB
	members []*server.Server
	configs []server.Config
	addrs   []string
	// admin is a connection to the first member.
	admin snowraftv1.SequenceServiceClient
}

func startNumberCluster(t testing.TB, size int) *numberCluster {
	t.Helper()
	needsBubble(t, size)
	c := &numberCluster{t: t}
	var seeds []string
	for i := range size {
		cfg := server.Config{
			Name: fmt.Sprintf("m%d", i+1), DataDir: filepath.Join(t.TempDir(), "data"), Version: "test", Logger: slog.New(slog.DiscardHandler), BootstrapExpect: size, Join: seeds,
			APIAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
			Timing: quick, Network: networkOf(t),
		}
		s := c.open(cfg)
		cfg.APIAddr = s.APIAddr() // the address that clients know
		c.configs, c.members, c.addrs, seeds = append(c.configs, cfg), append(c.members, s), append(c.addrs, s.APIAddr()), append(seeds, s.GossipAddr())
	}
	conn, err := grpc.NewClient("passthrough:///"+c.addrs[0], append(frontend.DialOptions(networkOf(t)),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c.admin = snowraftv1.NewSequenceServiceClient(conn)
	for _, s := range c.members {
		eventually(t, "a member issues IDs", func() bool { return s.Ready() == nil })
	}
	return c
}

func (c *numberCluster) open(cfg server.Config) *server.Server {
	c.t.Helper()
	s, err := openServer(c.t, cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // a clean stop of the last members would wait for a quorum
		_ = s.Close(ctx)
	})
	return s
}

// restart restarts a closed member.
func (c *numberCluster) restart(i int) {
	c.t.Helper()
	c.members[i] = c.open(c.configs[i])
}

func (c *numberCluster) close(s *server.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), client.Patience)
	defer cancel()
	_ = s.Close(ctx)
}

// leader returns the leader.
func (c *numberCluster) leader() (found *server.Server) {
	c.t.Helper()
	eventually(c.t, "there is a leader", func() bool {
		for _, s := range c.members {
			if s.Member().Node().IsLeader() {
				found = s
			}
		}
		return found != nil
	})
	return found
}

// create creates a sequence. It repeats the request if the leader changes, because the repetition of an equal one does no harm.
func (c *numberCluster) create(spec *snowraftv1.Sequence) {
	c.t.Helper()
	var err error
	eventually(c.t, "there is a leader for the sequence "+spec.GetName(), func() bool {
		_, err = c.admin.CreateSequence(c.t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: spec})
		reason := rpc.FromError(err).Reason
		return err == nil || reason != rpc.NoLeader && reason != rpc.NotLeader && reason != rpc.CommitUnknown
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *numberCluster) client(opts ...client.Option) *client.Client {
	c.t.Helper()
	cl, err := client.New(c.addrs, append([]client.Option{
		client.WithTimeout(client.Patience), client.WithDialOptions(frontend.DialOptions(networkOf(c.t))...),
	}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = cl.Close() })
	return cl
}
