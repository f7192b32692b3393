package bench

import (
	"context"
	"math"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/load"
)

// eachMember passes each member to ask once, so that a call that cannot succeed fails
// before the measurement.
func eachMember(cfg config, ask func(*cli.Remote) error) error {
	for _, address := range cfg.addresses {
		r, err := cli.Dial([]string{address}, cfg.timeout, cfg.access)
		if err != nil {
			return err
		}
		err = ask(r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// dial opens one connection to each address, and makes the clients that share the connections.
func (b *clients) dial(cfg config, caller func(*grpc.ClientConn) load.Caller) error {
	access, err := cfg.load()
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
		conn, err := load.Dial(address, access)
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

// client returns a Go client.
func (c config) client() (*client.Client, error) {
	options, err := c.access.Options()
	if err != nil {
		return nil, err
	}
	return client.New(c.addresses, append(options, client.WithTimeout(c.timeout))...)
}

// load returns the credentials of clients other than the Go client.
func (c config) load() (a load.Access, err error) {
	a.Token = c.access.Token
	a.TLS, err = c.access.Config()
	return a, err
}

// batchOf returns the number of IDs or numbers per call.
func batchOf(cfg config) uint32 { return uint32(min(cfg.batch, math.MaxUint32)) } //nolint:gosec // the flag is at least 1

// clients are the clients of a run.
type clients struct {
	callers     []load.Caller
	connections int    // 0: chosen by the Go client
	step        uint64 // distance between successive numbers of a run
	signed      bool   // numbers may be negative
	close       func()
}

// share makes clients that share one Go client.
func (b *clients) share(cfg config, caller func(*client.Client) load.Caller) error {
	c, err := cfg.client()
	if err != nil {
		return err
	}
	b.close = func() { _ = c.Close() } // no call is in progress
	for range cfg.clients {
		b.callers = append(b.callers, caller(c))
	}
	return nil
}

// addCoalesceFlag adds the flag that makes clients share one Go client.
func addCoalesceFlag(cmd *cobra.Command, coalesce *bool) {
	cmd.Flags().BoolVar(coalesce, "coalesce", false, "share one Go client, which joins concurrent requests")
}

// closingCaller is a client with a connection of its own.
type closingCaller interface {
	load.Caller
	Close()
}

// ownConnections makes clients with one connection each. Before that, it calls each address once,
// and fails if a call fails.
func ownConnections(ctx context.Context, cfg config, open func(address string, batch int) closingCaller) (*clients, error) {
	for _, address := range cfg.addresses {
		c := open(address, 1)
		err := c.Call(ctx, &load.Receipt{})
		c.Close()
		if err != nil {
			return nil, failed(address+": ", load.FailureOf(err))
		}
	}
	b := &clients{connections: cfg.clients, step: 1, signed: true}
	var opened []closingCaller
	for i := range cfg.clients {
		c := open(cfg.addresses[i%len(cfg.addresses)], cfg.batch)
		opened = append(opened, c)
		b.callers = append(b.callers, c)
	}
	b.close = func() {
		for _, c := range opened {
			c.Close()
		}
	}
	return b, nil
}
