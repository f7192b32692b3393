package bench

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/seq"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// target is the system under test of a command. Everything else is equal for all commands.
type target struct {
	noun   string // issued things, in the plural: "IDs"
	signed bool   // numbers may be negative
	// step returns the distance between successive numbers of a run. Its call fails if the calls of a run cannot succeed.
	step func(ctx context.Context, r *cli.Remote, args []string) (uint64, error)
	// own returns a client that makes calls over a connection, and shared one that uses a Go client.
	own    func(conn *grpc.ClientConn, cfg config, args []string) load.Caller
	shared func(c *client.Client, cfg config, args []string) load.Caller
}

// clients are the clients of a run.
type clients struct {
	callers     []load.Caller
	connections int    // 0: chosen by the Go client
	step        uint64 // distance between successive numbers of a run
	close       func()
}

// open makes the clients, after a call to each member.
func (t target) open(ctx context.Context, cfg config, args []string) (*clients, error) {
	b := &clients{}
	for _, address := range cfg.addresses {
		r, err := cli.Dial([]string{address}, cfg.timeout, cfg.access)
		if err != nil {
			return nil, err
		}
		b.step, err = t.step(ctx, r, args)
		r.Close()
		if err != nil {
			return nil, err
		}
	}
	if cfg.coalesce {
		return b, b.share(cfg, func(c *client.Client) load.Caller { return t.shared(c, cfg, args) })
	}
	return b, b.dial(cfg, func(conn *grpc.ClientConn) load.Caller { return t.own(conn, cfg, args) })
}

// share makes clients that share one Go client.
func (b *clients) share(cfg config, caller func(*client.Client) load.Caller) error {
	options, err := cfg.access.Options()
	if err != nil {
		return err
	}
	c, err := client.New(cfg.addresses, append(options, client.WithTimeout(cfg.timeout))...)
	if err != nil {
		return err
	}
	b.close = func() { _ = c.Close() } // no call is in progress
	for range cfg.clients {
		b.callers = append(b.callers, caller(c))
	}
	return nil
}

// dial opens one connection to each address, and makes the clients that share the connections.
func (b *clients) dial(cfg config, caller func(*grpc.ClientConn) load.Caller) error {
	config, err := cfg.access.Config()
	if err != nil {
		return err
	}
	var conns []*grpc.ClientConn
	b.close = func() {
		for _, conn := range conns {
			_ = conn.Close() // fails only if closed before
		}
	}
	for _, address := range cfg.addresses {
		conn, err := load.Dial(address, load.Access{Token: cfg.access.Token, TLS: config})
		if err != nil {
			b.close()
			return err
		}
		conns = append(conns, conn)
	}
	b.connections = len(conns)
	for i := range cfg.clients {
		b.callers = append(b.callers, caller(conns[i%len(conns)]))
	}
	return nil
}

func newIDs(a *cli.App) *cobra.Command {
	var layout string
	cmd := &cobra.Command{
		Use:   "ids",
		Short: "Measure IDs over gRPC",
		Long: `Measure IDs over gRPC: call GenerateIds from --clients clients, over one connection to
each address. Members return ranges of IDs, whose size does not depend on --batch.

With --coalesce, the clients share one Go client, which joins concurrent requests into
one request to a healthy member.

The check for duplicates keeps all IDs as ranges in bounded memory, and warns when that
is full.`,
		Example: `  snowraft bench ids
  snowraft bench ids --batch 10000 --layout orders
  snowraft bench ids --coalesce --clients 1000
  snowraft bench ids --rate 5000 --duration 1m \
    --addr 10.0.0.1:7700,10.0.0.2:7700 -o json`,
	}
	a.AddLayoutFlag(cmd, &layout)
	return command(a, cmd, target{
		noun: "IDs",
		step: func(ctx context.Context, r *cli.Remote, _ []string) (uint64, error) {
			resp, err := r.IDs.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: layout, Count: 1})
			if err != nil || len(resp.GetRanges()) == 0 {
				return 0, err
			}
			return uint64(resp.GetRanges()[0].GetStep()), nil //nolint:gosec // never negative
		},
		own: func(conn *grpc.ClientConn, cfg config, _ []string) load.Caller {
			req := &snowraftv1.GenerateIdsRequest{Layout: layout, Count: uint32(cfg.batch)} //nolint:gosec // at most limits.Count
			return &load.IDs{Client: snowraftv1.NewIdServiceClient(conn), Request: req, Timeout: cfg.timeout}
		},
		shared: func(c *client.Client, cfg config, _ []string) load.Caller {
			return &load.Coalesced{IDs: c.IDs(layout), Count: cfg.batch}
		},
	})
}

func newSeq(a *cli.App) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "seq NAME",
		Short: "Measure the numbers of a sequence over gRPC",
		Long: `Measure the numbers of a sequence over gRPC: call NextNumbers from --clients clients,
over one connection to each address. The sequence must exist, and bench takes its numbers.
The mode of the sequence determines what is measured: the leader of a strict sequence, or
the memory of the members of a relaxed one ("snowraft seq create orders --mode relaxed").

With --coalesce, the clients share one Go client, which joins concurrent requests into
one request to the leader or, for a relaxed sequence, to any healthy member.

A sequence that restarts during the measurement repeats numbers as intended: use
--check=false.`,
		Example: `  snowraft bench seq orders
  snowraft bench seq orders --coalesce --clients 1000
  snowraft bench seq invoices --clients 1000 --batch 10 --duration 30s`,
		Args:              seq.Args,
		ValidArgsFunction: a.CompleteFirst(seq.Names),
	}, target{
		noun: "numbers", signed: true,
		step: func(ctx context.Context, r *cli.Remote, args []string) (uint64, error) {
			resp, err := r.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0]})
			return magnitude(resp.GetSequence().GetIncrement()), err
		},
		own: func(conn *grpc.ClientConn, cfg config, args []string) load.Caller {
			req := &snowraftv1.NextNumbersRequest{Sequence: args[0], Count: uint32(cfg.batch)} //nolint:gosec // at most limits.Count
			return &load.Next{Client: snowraftv1.NewSequenceServiceClient(conn), Request: req, Timeout: cfg.timeout}
		},
		shared: func(c *client.Client, cfg config, args []string) load.Caller {
			return &load.CoalescedNumbers{Sequence: c.Sequence(args[0]), Count: cfg.batch}
		},
	})
}

// magnitude returns the distance between successive numbers of a sequence, at least 1.
func magnitude(increment int64) uint64 {
	if increment < 0 {
		return -uint64(increment) //nolint:gosec // the same bits; correct for the least number too
	}
	return max(uint64(increment), 1)
}
