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

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	defaultPort   = "7700"    // of members' API
	defaultLayout = "default" // the layout that every cluster has
)

// Client knows a cluster. Its methods may be called from any goroutine; one Client is
// enough for a process.
//
// It has two connections to each member at most: one for IDs, over which members that
// cannot issue any are passed over, and one for what the leader does, which any member
// passes on. Both are made when they are first needed.
type Client struct {
	opts    options
	ids     *channel // to members that can issue
	leader  *channel // to members that run
	members *members
	direct  *direct // of a one-shot client; else nil

	// idStreams and numberStreams carry requests of many callers; a one-shot client does not use them.
	idStreams, numberStreams *streams

	sequences snowraftv1.SequenceServiceClient
	catalog   snowraftv1.LayoutServiceClient

	// standard issues IDs of the layout "default".
	standard *IDs

	mu      sync.Mutex
	layouts map[string]*IDs // by name
	numbers map[string]*Sequence
	closing sync.Once
}

// New returns a client of the cluster that the members at these addresses belong to. An
// address is host:port or host, where 7700 is the port; a name may stand for several members. Some of
// the members suffice, the others are learned from them.
//
// It makes no connection yet, so it fails only if an address or an option is wrong.
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
	if c.ids, err = newChannel(snowraftv1.IdService_ServiceDesc.ServiceName, seeds, &c.opts, c.members); err != nil {
		return nil, err
	}
	if c.leader, err = newChannel(snowraftv1.ClusterService_ServiceDesc.ServiceName, seeds, &c.opts, c.members); err != nil {
		return nil, errors.Join(err, c.ids.close())
	}
	c.ids.caller.fallback = c.leader.ClientConn
	c.idStreams = newStreams(c.ids, snowraftv1.IdService_StreamIds_FullMethodName, func() carriedAnswer { return new(snowraftv1.StreamIdsResponse) })
	c.numberStreams = newStreams(c.leader, snowraftv1.SequenceService_StreamNumbers_FullMethodName, func() carriedAnswer { return new(snowraftv1.StreamNumbersResponse) })
	c.numberStreams.toLeader = true
	c.members.ask = snowraftv1.NewClusterServiceClient(c.leader)
	c.members.channels = []*channel{c.ids, c.leader}
	if o.oneShot {
		c.direct = newDirect(seeds, &c.opts)
		c.ids.caller.conn, c.leader.caller.conn, c.ids.caller.fallback = c.direct, c.direct, nil
		c.members.begin.Do(func() {}) // nothing is learned
	}
	c.sequences, c.catalog = snowraftv1.NewSequenceServiceClient(c.leader), snowraftv1.NewLayoutServiceClient(c.leader)
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

// distinct returns each address once, where it first comes.
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

// IDs issues IDs of a layout; an empty name means "default". The same name gives the same IDs, whose
// callers share calls. The client keeps a little memory for each name, so check names that come from
// outside.
func (c *Client) IDs(layout string) *IDs {
	layout = cmp.Or(layout, defaultLayout)
	return entry(c, c.layouts, layout, func() *IDs { return newIDs(c, layout) })
}

// Sequence issues numbers of the sequence of that name, which the cluster has to know when they are
// requested. The same name gives the same Sequence.
func (c *Client) Sequence(name string) *Sequence {
	return entry(c, c.numbers, name, func() *Sequence {
		return newSequence(name, c)
	})
}

// entry returns the entry of a name in a map of the client, made when it is first requested.
func entry[T any](c *Client, all map[string]*T, name string, create func() *T) *T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all[name] == nil {
		all[name] = create()
	}
	return all[name]
}

// Close ends the connections. Calls in progress fail with ErrClosed, and so do later ones; closing twice is
// harmless. Close generators, buffers and blocks first: they return what they hold.
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
