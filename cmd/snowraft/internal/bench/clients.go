package bench

import (
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

// client returns a Go client.
func (c config) client() (*client.Client, error) {
	options, err := c.access.Options()
	if err != nil {
		return nil, err
	}
	return client.New(c.addresses, append(options, client.WithTimeout(c.timeout))...)
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
