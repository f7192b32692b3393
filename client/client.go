package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/mux"
	"github.com/snowraft/snowraft/internal/receipt"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	defaultPort   = "7700"    // port of members' API
	defaultLayout = "default" // the layout that every cluster has
)

// Client calls the members of a Snowraft cluster. Its methods are safe for concurrent use; one Client is
// enough for a process.
//
// A Client has at most two connections to each member. One is for IDs; it skips members that cannot issue IDs.
// The other is for requests that the leader serves; every member forwards these. The Client opens each connection
// when it is first needed.
type Client struct {
	opts    options
	ids     *channel // connections to members that can issue IDs
	leader  *channel // connections to members that run
	members *members
	direct  *direct // nil unless the client is one-shot

	receipts receipt.Latest

	// idStreams and numberStreams carry requests of many callers; a one-shot client does not use them.
	idStreams, numberStreams *streams

	sequences    snowraftv1.SequenceServiceClient
	reservations snowraftv1.ReservationServiceClient
	templates    snowraftv1.TemplateServiceClient
	catalog      snowraftv1.LayoutServiceClient

	// standard issues IDs of the layout "default".
	standard *IDs

	mu      sync.Mutex
	layouts map[string]*IDs // keyed by name
	numbers map[string]*Sequence
	closing sync.Once
}

// New returns a client of the cluster that the members at these addresses belong to. An address is
// host:port, or a host with the default port 7700; a host name may resolve to several members. The addresses
// of some members suffice, because the client learns the others from them.
//
// New opens no connection, so it fails only if an address or an option is invalid.
func New(addrs []string, opts ...Option) (*Client, error) {
	o, err := newOptions(opts)
	if err != nil {
		return nil, err
	}
	seeds, err := seedAddresses(addrs)
	if err != nil {
		return nil, err
	}
	seeds = distinct(seeds)
	c := &Client{opts: o, members: newMembers(seeds), layouts: make(map[string]*IDs), numbers: make(map[string]*Sequence)}
	if c.ids, err = newChannel(snowraftv1.IdService_ServiceDesc.ServiceName, seeds, &c.opts, c.members, &c.receipts); err != nil {
		return nil, err
	}
	if c.leader, err = newChannel(snowraftv1.ClusterService_ServiceDesc.ServiceName, seeds, &c.opts, c.members, &c.receipts); err != nil {
		return nil, errors.Join(err, c.ids.close())
	}
	c.ids.caller.fallback = c.leader.ClientConn
	c.idStreams = newStreams(c.ids, snowraftv1.IdService_StreamIds_FullMethodName, func() mux.Answer { return new(snowraftv1.StreamIdsResponse) })
	c.numberStreams = newStreams(c.leader, snowraftv1.SequenceService_StreamNumbers_FullMethodName, func() mux.Answer { return new(snowraftv1.StreamNumbersResponse) })
	c.numberStreams.toLeader = true
	c.members.ask = snowraftv1.NewClusterServiceClient(c.leader)
	c.members.channels = []*channel{c.ids, c.leader}
	if o.oneShot {
		c.direct = newDirect(seeds, &c.opts)
		c.ids.caller.conn, c.leader.caller.conn, c.ids.caller.fallback = c.direct, c.direct, nil
		c.members.begin.Do(func() {}) // a one-shot client learns no members
	}
	c.sequences, c.catalog = snowraftv1.NewSequenceServiceClient(c.leader), snowraftv1.NewLayoutServiceClient(c.leader)
	c.reservations, c.templates = snowraftv1.NewReservationServiceClient(c.leader), snowraftv1.NewTemplateServiceClient(c.leader)
	c.standard = c.IDs(defaultLayout)
	return c, nil
}

func seedAddresses(addrs []string) ([]string, error) {
	if len(addrs) == 0 {
		return nil, errors.New("client: missing address; give the address of at least one member")
	}
	var seeds []string
	for _, given := range addrs {
		addr := given
		switch {
		case net.ParseIP(addr) != nil:
			addr = net.JoinHostPort(addr, defaultPort)
		case !strings.Contains(addr, ":"), strings.HasSuffix(addr, "]"):
			addr += ":" + defaultPort
		}
		host, port, err := net.SplitHostPort(addr)
		if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 || host == "" || strings.Contains(host, "/") {
			return nil, fmt.Errorf("client: member address %q: expected host:port", given)
		}
		seeds = append(seeds, addr)
	}
	return seeds, nil
}

// distinct returns each address once, in the order of first occurrence.
func distinct(addrs []string) (once []string) {
	for _, a := range addrs {
		if !slices.Contains(once, a) {
			once = append(once, a)
		}
	}
	return once
}

// NextID returns one ID of the layout "default"; see [IDs.Next].
func (c *Client) NextID(ctx context.Context) (int64, error) { return c.standard.Next(ctx) }

// IDs returns the issuer of a layout's IDs; an empty name means "default". Calls with the same name return the same
// pointer, so that all users of a layout share calls. The client keeps a little memory for each name, so check names
// from untrusted sources.
func (c *Client) IDs(layout string) *IDs {
	layout = cmp.Or(layout, defaultLayout)
	return entry(c, c.layouts, layout, func() *IDs { return newIDs(c, layout) })
}

// Sequence returns the issuer of the numbers of a sequence. The sequence must exist when numbers are requested.
// Calls with the same name return the same pointer.
func (c *Client) Sequence(name string) *Sequence {
	return entry(c, c.numbers, name, func() *Sequence {
		return newSequence(name, c)
	})
}

// entry returns the entry of a name in a map of the client, and creates it on the first request.
func entry[T any](c *Client, all map[string]*T, name string, create func() *T) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all[name] == nil {
		all[name] = create()
	}
	return all[name]
}

// Close closes the connections. Calls in progress and later calls fail with an error that matches ErrClosed; closing twice
// is harmless. Close generators, buffers and blocks first, so that generators and blocks can return what they hold to
// the cluster.
func (c *Client) Close() (err error) {
	c.closing.Do(func() {
		c.members.stop()
		err = errors.Join(c.ids.close(), c.leader.close())
		if c.direct != nil {
			c.direct.close()
		}
	})
	return err
}

// Conn returns a connection for calls of the cluster's gRPC services that this package does not wrap:
//
//	cluster := snowraftv1.NewClusterServiceClient(c.Conn())
//
// Any healthy member may serve a call. The client retries a call at another member only if that is safe, and never
// retries a stream. Calls fail with an [*Error] or ErrClosed.
func (c *Client) Conn() grpc.ClientConnInterface { return conn{c} }

type conn struct{ client *Client }

func (c conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return c.channel(method).Invoke(ctx, method, args, reply, opts...)
}

func (c conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.channel(method).NewStream(ctx, desc, method, opts...)
}

func (c conn) channel(method string) *channel {
	switch method {
	case snowraftv1.IdService_GenerateIds_FullMethodName, snowraftv1.IdService_GenerateUuids_FullMethodName,
		snowraftv1.IdService_StreamIds_FullMethodName:
		return c.client.ids
	default:
		return c.client.leader
	}
}
