package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (a *app) benchIDsCommand() *cobra.Command {
	var (
		layout           string
		packed, coalesce bool
	)
	cmd := &cobra.Command{
		Use:   "ids",
		Short: "Measure IDs over gRPC",
		Long: `Calls GenerateIds from --clients clients, over one connection to each address.
A member answers with ranges of IDs, which stay as small for many as for one; with
--packed, with the IDs themselves.

With --coalesce the clients are callers of one Go client, as in a program that uses
it: those that ask at the same time share a call, which goes to whichever member is
well.

The check for duplicates holds all IDs as ranges. IDs that no other client of the
cluster takes meanwhile join to few; where its memory ends, it says so.`,
		Example: `  snowraft bench ids
  snowraft bench ids --batch 10000 --packed --layout orders
  snowraft bench ids --coalesce --clients 1000
  snowraft bench ids --rate 5000 --duration 1m --addr 10.0.0.1:7700,10.0.0.2:7700 -o json`,
		Args: arguments(),
	}
	addLayoutFlag(cmd, &layout)
	cmd.Flags().BoolVar(&packed, "packed", false, "ask for the IDs themselves instead of ranges")
	cmd.Flags().BoolVar(&coalesce, "coalesce", false, "ask through one Go client, whose callers share calls")
	return a.bench(cmd, callTarget{
		noun: "IDs", port: apiPort, setting: true,
		batch: limits.Count, batchHelp: fmt.Sprintf("how many IDs a call asks for, at most %d with --packed", limits.Packed),
		open: func(ctx context.Context, cfg benchConfig, _ []string) (*benchClients, error) {
			if packed && cfg.batch > limits.Packed {
				return nil, usagef("--batch %d: expected at most %d with --packed", cfg.batch, limits.Packed)
			}
			if packed && coalesce {
				return nil, usagef("--packed: expected without --coalesce, which always asks for ranges")
			}
			clients := &benchClients{}
			err := eachMember(cfg, func(c *client) error {
				resp, err := snowraftv1.NewIdServiceClient(c).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: layout, Count: 1})
				if err == nil && len(resp.GetRanges()) > 0 {
					clients.step = resp.GetRanges()[0].GetStep()
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			if coalesce {
				return clients, clients.share(cfg, layout)
			}
			req := &snowraftv1.GenerateIdsRequest{Layout: layout, Count: batchOf(cfg), Packed: packed}
			return clients, clients.dial(cfg, func(conn *grpc.ClientConn) load.Caller {
				return &load.IDs{Client: snowraftv1.NewIdServiceClient(conn), Request: req, Timeout: cfg.timeout}
			})
		},
	})
}

func (a *app) benchSequenceCommand() *cobra.Command {
	cmd := a.bench(&cobra.Command{
		Use:   "seq NAME",
		Short: "Measure the numbers of a sequence over gRPC",
		Long: `Calls SequenceService.Next from --clients clients, over one connection to each
address. The sequence has to exist; its numbers are given out.

A sequence that starts over while it is measured gives numbers a second time, as
it should: --check=false, then.`,
		Example: `  snowraft bench seq orders
  snowraft bench seq invoices --clients 1000 --batch 10 --duration 30s`,
		Args: sequenceArguments(),
	}, callTarget{
		noun: "numbers", port: apiPort, setting: true,
		batch: limits.Count, batchHelp: "how many numbers a call asks for",
		open: func(ctx context.Context, cfg benchConfig, args []string) (*benchClients, error) {
			clients := &benchClients{signed: true}
			err := eachMember(cfg, func(c *client) error {
				resp, err := snowraftv1.NewSequenceServiceClient(c).GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: args[0]})
				if err == nil {
					clients.step = magnitude(newSequenceDoc(resp.GetSequence()).Increment)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			req := &snowraftv1.NextRequest{Sequence: args[0], Count: batchOf(cfg)}
			return clients, clients.dial(cfg, func(conn *grpc.ClientConn) load.Caller {
				return &load.Next{Client: snowraftv1.NewSequenceServiceClient(conn), Request: req, Timeout: cfg.timeout}
			})
		},
	})
	cmd.ValidArgsFunction = a.completeSequence
	return cmd
}

// eachMember has ask call each member once, so that what can't succeed fails before
// it is measured.
func eachMember(cfg benchConfig, ask func(*client) error) error {
	for _, address := range cfg.addresses {
		c := newClient([]string{address}, cfg.timeout)
		err := ask(c)
		c.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// dial makes one connection to each address, and the clients that share them.
func (b *benchClients) dial(cfg benchConfig, caller func(*grpc.ClientConn) load.Caller) error {
	var conns []*grpc.ClientConn
	b.close = func() {
		for _, conn := range conns {
			_ = conn.Close() // only ever says that it was closed before
		}
	}
	for _, address := range cfg.addresses {
		conn, err := load.Dial(address)
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

// batchOf is how many IDs or numbers a call asks for.
func batchOf(cfg benchConfig) uint32 { return uint32(min(cfg.batch, math.MaxUint32)) } //nolint:gosec // its flag is at least 1

// magnitude is how far the numbers of a sequence are apart.
func magnitude(increment int64) uint64 {
	if increment < 0 {
		return -uint64(increment) //nolint:gosec // the same bits, and those of the least number are right too
	}
	return uint64(increment)
}
