package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// AddrFlag is the flag that names the members to ask.
const AddrFlag = "addr"

// DefaultTimeout is the longest that a call may take by default.
const DefaultTimeout = 5 * time.Second

const defaultAddress = Localhost + ":7700"

// Remote is a client command at work: whom it asks and where its answer goes.
type Remote struct {
	*Client
	Out *Printer
}

// IDs returns a client of the service of IDs.
func (r *Remote) IDs() snowraftv1.IdServiceClient { return snowraftv1.NewIdServiceClient(r) }

// Layouts returns a client of the service of layouts.
func (r *Remote) Layouts() snowraftv1.LayoutServiceClient {
	return snowraftv1.NewLayoutServiceClient(r)
}

// Workers returns a client of the service of workers.
func (r *Remote) Workers() snowraftv1.WorkerServiceClient {
	return snowraftv1.NewWorkerServiceClient(r)
}

// Sequences returns a client of the service of sequences.
func (r *Remote) Sequences() snowraftv1.SequenceServiceClient {
	return snowraftv1.NewSequenceServiceClient(r)
}

// Cluster returns a client of the service of the cluster.
func (r *Remote) Cluster() snowraftv1.ClusterServiceClient {
	return snowraftv1.NewClusterServiceClient(r)
}

// Client makes cmd a command that asks a cluster: it gets the flags for that,
// and work does it.
func (a *App) Client(cmd *cobra.Command, work func(ctx context.Context, r *Remote, args []string) error) *cobra.Command {
	addresses, timeout := []string{defaultAddress}, DefaultTimeout
	AddSetting(cmd, "Connection", AddrFlag, AddressesValue(&addresses, "10.0.0.1:7700,10.0.0.2:7700"),
		"API addresses of members; all are tried before the command fails")
	AddFlag(cmd, "Connection", "timeout", "", DurationValue(&timeout, time.Millisecond, time.Hour),
		"how long a call may take, however many members are tried")
	output := AddOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := Resolve(cmd.Flags(), a.Env, nil); err != nil {
			return err
		}
		c := NewClient(addresses, timeout)
		defer c.Close()
		return work(cmd.Context(), &Remote{Client: c, Out: a.Printer(*output)}, args)
	}
	return cmd
}

// Offline makes cmd a command that needs no cluster.
func (a *App) Offline(cmd *cobra.Command, work func(out *Printer, args []string) error) *cobra.Command {
	output := AddOutputFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return work(a.Printer(*output), args) }
	return cmd
}

// AddOutputFlag adds the flag --output and returns its value.
func AddOutputFlag(cmd *cobra.Command) *string {
	output := OutputText
	AddFlag(cmd, "", "output", "o", ChoiceValue(&output, OutputText, OutputJSON), "how the answer is written; in JSON, 64-bit numbers are strings")
	return &output
}

// Localhost is the host of members of this machine.
const Localhost = "127.0.0.1"

// The ports of a member by default; those of each further member of dev are 10 higher.
const (
	APIPort = 7700 + iota
	HTTPPort
	RaftPort
	GossipPort
	RedisPort
)
