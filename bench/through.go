package main

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// openClient returns a Go client of members.
func openClient(addresses []string, started *closers) (*client.Client, error) {
	c, err := client.New(addresses, client.WithTimeout(callTimeout))
	if err == nil {
		started.add(c.Close)
	}
	return c, err
}

// openGenerator returns an embedded generator after all its lanes have a window.
func openGenerator(ctx context.Context, c *client.Client, started *closers, opts ...client.GeneratorOption) (*client.Generator, error) {
	g, err := client.NewGenerator(c, append([]client.GeneratorOption{client.WithGeneratorHolder("bench")}, opts...)...)
	if err != nil {
		return nil, err
	}
	started.add(func() error { return g.Close(context.Background()) })
	if _, err := g.Next(ctx); err != nil {
		return nil, err
	}
	return g, until(ctx, func(context.Context) error {
		for _, lane := range g.Lanes() {
			if lane.Token == 0 {
				return errors.New("a lane of the generator has no worker")
			}
		}
		return nil
	})
}

// singly returns callers that each make one request at a time through next.
func singly(callers int, next func(context.Context) error) []load.Caller {
	all := make([]load.Caller, callers)
	for i := range all {
		all[i] = load.CallerFunc(func(ctx context.Context, got *load.Receipt) error {
			got.Count(1)
			return next(ctx)
		})
	}
	return all
}

// coalesced returns callers that share a Go client and request one ID at a time.
func coalesced(c *client.Client, callers int) []load.Caller {
	all := make([]load.Caller, callers)
	for i := range all {
		all[i] = &load.Coalesced{IDs: c.IDs(""), Count: 1}
	}
	return all
}

// coalescedNumbers returns callers that share a Go client and request one number at a time.
func coalescedNumbers(c *client.Client, sequence string, callers int) []load.Caller {
	all := make([]load.Caller, callers)
	for i := range all {
		all[i] = &load.CoalescedNumbers{Sequence: c.Sequence(sequence), Count: 1}
	}
	return all
}

// oneByOne returns callers that share a connection and call GenerateIds for each ID.
func oneByOne(address string, callers int, started *closers) ([]load.Caller, error) {
	return oneByOneWith(address, callers, started, load.Access{})
}

func oneByOneWith(address string, callers int, started *closers, access load.Access) ([]load.Caller, error) {
	return overOneWith(address, callers, started, access, func(conn *grpc.ClientConn) load.Caller {
		return &load.IDs{Client: snowraftv1.NewIdServiceClient(conn), Request: &snowraftv1.GenerateIdsRequest{Count: 1}, Timeout: callTimeout}
	})
}

// numbering returns callers that share a connection and call NextNumbers for each number.
func numbering(address, sequence string, callers int, started *closers) ([]load.Caller, error) {
	return overOne(address, callers, started, func(conn *grpc.ClientConn) load.Caller {
		return &load.Next{Client: snowraftv1.NewSequenceServiceClient(conn), Request: &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: 1}, Timeout: callTimeout}
	})
}
