package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// AddrFlag is the flag that names the members to call.
const AddrFlag = "addr"

// DefaultTimeout is the default timeout of calls.
const DefaultTimeout = 5 * time.Second

const defaultAddress = Localhost + ":7700"

// Remote is the cluster that a command calls, through the members at the given addresses. The
// caller of Dial or At closes it.
type Remote struct {
	IDs          snowraftv1.IdServiceClient
	Layouts      snowraftv1.LayoutServiceClient
	Backfills    snowraftv1.BackfillServiceClient
	Workers      snowraftv1.WorkerServiceClient
	Sequences    snowraftv1.SequenceServiceClient
	Reservations snowraftv1.ReservationServiceClient
	Templates    snowraftv1.TemplateServiceClient
	Cluster      snowraftv1.ClusterServiceClient
	Tokens       snowraftv1.TokenServiceClient
	Operations   snowraftv1.OperationsServiceClient
	Views        snowraftv1.ViewServiceClient
	Addresses    []string
	Timeout      time.Duration // limit of one call to all the members that it tries
	access       Access
	client       *client.Client
}

// Dial returns the cluster that the members at these addresses belong to. The first call connects.
func Dial(addresses []string, timeout time.Duration, access Access) (*Remote, error) {
	options, err := access.Options()
	if err != nil {
		return nil, err
	}
	c, err := client.New(addresses, append(options, client.WithOneShot(), client.WithTimeout(timeout))...)
	if err != nil {
		return nil, err
	}
	to := conn{c.Conn()}
	return &Remote{
		IDs: snowraftv1.NewIdServiceClient(to), Layouts: snowraftv1.NewLayoutServiceClient(to), Workers: snowraftv1.NewWorkerServiceClient(to),
		Backfills: snowraftv1.NewBackfillServiceClient(to),
		Sequences: snowraftv1.NewSequenceServiceClient(to), Cluster: snowraftv1.NewClusterServiceClient(to),
		Reservations: snowraftv1.NewReservationServiceClient(to),
		Templates:    snowraftv1.NewTemplateServiceClient(to),
		Tokens:       snowraftv1.NewTokenServiceClient(to), Operations: snowraftv1.NewOperationsServiceClient(to),
		Views:     snowraftv1.NewViewServiceClient(to),
		Addresses: addresses, Timeout: timeout, access: access, client: c,
	}, nil
}

// At returns the cluster with the address of one member only, and the credentials and the timeout
// of r.
func (r *Remote) At(address string) (*Remote, error) {
	return Dial([]string{address}, r.Timeout, r.access)
}

// Client returns the Go client of the connections.
func (r *Remote) Client() *client.Client { return r.client }

// Token returns the API token of the calls; empty without one.
func (r *Remote) Token() string { return r.access.Token }

// Close closes the connections. No call may be in progress.
func (r *Remote) Close() { _ = r.client.Close() } // no call is in progress

// AddConnection adds the flags of a connection to a cluster. The function dial returns the cluster; the flags must be resolved.
func (a *App) AddConnection(cmd *cobra.Command) (dial func() (*Remote, error)) {
	addresses, timeout := []string{defaultAddress}, DefaultTimeout
	AddSetting(cmd, connection, AddrFlag, AddressesValue(&addresses, "10.0.0.1:7700,10.0.0.2:7700"),
		"API addresses of members; the command tries each before it fails")
	AddFlag(cmd, connection, "timeout", "", DurationValue(&timeout, time.Millisecond, time.Hour),
		"longest time of a call, over all members that it tries")
	a.AddAccessFlags(cmd)
	return func() (*Remote, error) { return Dial(addresses, timeout, a.Access(cmd.Flags())) }
}

// Client makes cmd a command that calls a cluster: it adds the flags of a client
// command and runs work. more are output formats besides text and JSON.
func (a *App) Client(cmd *cobra.Command, work func(ctx context.Context, r *Remote, out *Printer, args []string) error, more ...string) *cobra.Command {
	dial := a.AddConnection(cmd)
	return a.Command(cmd, func(ctx context.Context, out *Printer, args []string) error {
		r, err := dial()
		if err != nil {
			return err
		}
		defer r.Close()
		return work(ctx, r, out, args)
	}, more...)
}

// Command makes cmd a command that runs work and prints an answer. The arguments are
// those that cmd.Use names, unless cmd.Args is set. more are output formats besides text and JSON.
func (a *App) Command(cmd *cobra.Command, work func(ctx context.Context, out *Printer, args []string) error, more ...string) *cobra.Command {
	output := OutputText
	AddFlag(cmd, "", "output", "o", ChoiceValue(&output, append([]string{OutputText, OutputJSON}, more...)...), "output format; json is the JSON of the API")
	if cmd.Args == nil {
		cmd.Args = Args
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.Resolve(cmd.Flags()); err != nil {
			return err
		}
		return work(cmd.Context(), a.Printer(output), args)
	}
	return cmd
}

// Localhost is the host of members on this machine.
const Localhost = "127.0.0.1"

// The default ports of a member. The ports of each further member of dev are 10 higher.
const (
	APIPort = 7700 + iota
	HTTPPort
	RaftPort
	GossipPort
	RedisPort
	// ThriftPort is the port of Twitter's Snowflake server.
	ThriftPort = 7609
)

// PageSize is the size of a requested page: the greatest size that members allow.
const PageSize = 1000

// mostPages bounds the list of a member that never ends it.
const mostPages = 10_000

// List calls page with the token of each page of a list, empty for the first, and returns the
// items of all pages. The token next is empty after the last page. List stops at the first error.
func List[M any](page func(token string) (items []M, next string, err error)) ([]M, error) {
	var all []M
	token := ""
	for range mostPages {
		items, next, err := page(token)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if next == "" {
			return all, nil
		}
		if next == token {
			break
		}
		token = next
	}
	return nil, errors.New("the list of the member does not end; use another member")
}

// InCalls requests count elements in calls for at most limit elements each, one after the other,
// until a call fails.
func InCalls(count, limit uint64, call func(n uint32) error) error {
	for count > 0 {
		n := min(count, limit)
		if err := call(uint32(n)); err != nil { //nolint:gosec // limits are far lower
			return err
		}
		count -= n
	}
	return nil
}

// Complete returns an error unless a member answered with the requested number of elements.
func Complete(got uint64, want uint32, elements string) error {
	if got != uint64(want) {
		return fmt.Errorf("the member answered with %d %s, expected %d", got, elements, want)
	}
	return nil
}
