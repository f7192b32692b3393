package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	addrFlag       = "addr"
	defaultAddress = localhost + ":7700"
	defaultTimeout = 5 * time.Second
)

// remote is a client command at work: whom it asks and where its answer goes.
type remote struct {
	*client
	out *printer
}

func (r *remote) ids() snowraftv1.IdServiceClient { return snowraftv1.NewIdServiceClient(r) }
func (r *remote) layouts() snowraftv1.LayoutServiceClient {
	return snowraftv1.NewLayoutServiceClient(r)
}
func (r *remote) workers() snowraftv1.WorkerServiceClient {
	return snowraftv1.NewWorkerServiceClient(r)
}
func (r *remote) sequences() snowraftv1.SequenceServiceClient {
	return snowraftv1.NewSequenceServiceClient(r)
}
func (r *remote) cluster() snowraftv1.ClusterServiceClient {
	return snowraftv1.NewClusterServiceClient(r)
}

// client makes cmd a command that asks a cluster: it gets the flags for that,
// and work does it.
func (a *app) client(cmd *cobra.Command, work func(ctx context.Context, r *remote, args []string) error) *cobra.Command {
	addresses, timeout := []string{defaultAddress}, defaultTimeout
	addSetting(cmd, "Connection", addrFlag, addressesValue(&addresses, "10.0.0.1:7700,10.0.0.2:7700"),
		"API addresses of members; all are tried before the command fails")
	addFlag(cmd, "Connection", "timeout", "", durationValue(&timeout, time.Millisecond, time.Hour),
		"how long a call may take, however many members are tried")
	output := addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := resolve(cmd.Flags(), a.env, nil); err != nil {
			return err
		}
		c := newClient(addresses, timeout)
		defer c.close()
		return work(cmd.Context(), &remote{client: c, out: a.printer(*output)}, args)
	}
	return cmd
}

// offline makes cmd a command that needs no cluster.
func (a *app) offline(cmd *cobra.Command, work func(out *printer, args []string) error) *cobra.Command {
	output := addOutputFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return work(a.printer(*output), args) }
	return cmd
}

func addOutputFlag(cmd *cobra.Command) *string {
	output := outputText
	addFlag(cmd, "", "output", "o", choiceValue(&output, outputText, outputJSON), "how the answer is written; in JSON, 64-bit numbers are strings")
	return &output
}
