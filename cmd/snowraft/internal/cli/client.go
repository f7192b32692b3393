package cli

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// RetryFor is how long a call is tried again while a cluster has no leader.
	// An election takes less.
	RetryFor     = 2 * time.Second
	RetryPause   = 50 * time.Millisecond
	longestPause = 400 * time.Millisecond
)

// Client calls a cluster through any of its members. It is a
// grpc.ClientConnInterface, so that generated clients work on top of it. It is
// not safe for concurrent use.
type Client struct {
	Members []*endpoint
	Timeout time.Duration // of one call, however many members it tries
	next    int           // the member that answered last
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// NewClient returns a client of the members at these addresses.
func NewClient(addresses []string, timeout time.Duration) *Client {
	c := &Client{Timeout: timeout}
	for _, address := range addresses {
		c.Members = append(c.Members, &endpoint{Address: address})
	}
	return c
}

// Close ends the connections.
func (c *Client) Close() {
	for _, m := range c.Members {
		m.close()
	}
}

// Invoke tries every member in turn, from the one that answered last, until one
// answers or refuses in a way that another would too. While members say that an
// election is under way it starts over, for a moment.
func (c *Client) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	moment, end := context.WithTimeout(ctx, RetryFor)
	defer end()
	var before error
	for pause := RetryPause; ; pause = min(2*pause, longestPause) {
		err := c.round(ctx, method, args, reply, opts)
		failed, ok := errors.AsType[*callError](err)
		if before != nil && err != nil && (ctx.Err() != nil || ok && failed.late()) {
			return before // says more than that there was no time left for this round
		}
		if !ok || !failed.again() {
			return err
		}
		before = err
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-moment.Done():
			return err
		}
	}
}

// round tries every member once.
func (c *Client) round(ctx context.Context, method string, args, reply any, opts []grpc.CallOption) error {
	failed := &callError{}
	for i := range c.Members {
		at := (c.next + i) % len(c.Members)
		// Leave time for the members after this one, in case it is silent.
		share := c.Timeout / time.Duration(len(c.Members)-i)
		err := c.Members[at].call(ctx, share, method, args, reply, opts)
		if err == nil {
			c.next = at
			return nil
		}
		f := newFailure(c.Members[at].Address, err)
		if !f.elsewhere(rpc.RuleOf(method).Harmless(args)) {
			return &callError{failures: []failure{f}, final: true}
		}
		failed.failures = append(failed.failures, f)
	}
	return failed
}

// NewStream is not needed by any command.
func (c *Client) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "streams are not supported by this client")
}
