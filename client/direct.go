package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// direct holds the connections of a one-shot client: one to each address, opened on the first call to its member. It
// tries the addresses in order, starting with the one that answered last.
type direct struct {
	opts  *options
	addrs []string // each once

	mu     sync.Mutex
	first  int // index of the member that answered last
	links  map[string]*link
	closed bool
}

func newDirect(addrs []string, o *options) *direct {
	return &direct{opts: o, addrs: addrs, links: make(map[string]*link)}
}

// Invoke implements grpc.ClientConnInterface. It calls the first member that the try does not avoid,
// and leaves time for the members after it. Once a request that must not be repeated is sent, it may use all the
// remaining time.
func (d *direct) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	t, _ := ctx.Value(tryKey{}).(*try)
	at, left := d.next(t.avoid)
	t.choose(d.addrs[at], left > 1)
	deadline, _ := ctx.Deadline()
	mine, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
	defer cancel()
	l, err := d.connect(mine, d.addrs[at], left > 1)
	if err != nil {
		return err
	}
	if policyOf(method, req).harmless {
		ctx = mine
	}
	if err := l.Invoke(ctx, method, req, reply, opts...); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.first = at
	return nil
}

// next returns the index of the member to call, and the number of members that are left, including this one.
func (d *direct) next(avoid []string) (at, left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.addrs {
		k := (d.first + i) % len(d.addrs)
		if slices.Contains(avoid, d.addrs[k]) {
			continue
		}
		if left++; left == 1 {
			at = k
		}
	}
	return at, left
}

// connect waits for the connection to a member and returns it. With others left, it waits for connectLimit at most. It
// closes a connection that fails, so that the next try opens another one without the backoff of gRPC.
func (d *direct) connect(ctx context.Context, addr string, others bool) (*link, error) {
	l, err := d.link(addr)
	if err != nil {
		return nil, err
	}
	if others {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, connectLimit)
		defer cancel()
	}
	if err := l.ready(ctx); err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.links[addr] == l {
			delete(d.links, addr)
		}
		_ = l.Close() // fails only if closed before
		return nil, err
	}
	return l, nil
}

func (d *direct) link(addr string) (l *link, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if d.links[addr] == nil {
		if l, err = newLink(addr, d.opts); err != nil {
			return nil, err
		}
		d.links[addr] = l
	}
	return d.links[addr], nil
}

// NewStream implements grpc.ClientConnInterface. It opens a stream to the first member that accepts a connection.
func (d *direct) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (stream grpc.ClientStream, err error) {
	for i, addr := range d.addrs {
		var l *link
		explain := func(err error) error {
			e := newError(err, addr)
			e.explain(nil)
			return e
		}
		connecting, cancel := context.WithTimeout(ctx, d.opts.timeout)
		l, err = d.connect(connecting, addr, i < len(d.addrs)-1)
		cancel()
		if err != nil {
			err = explain(err)
			continue
		}
		if stream, err = l.NewStream(ctx, desc, method, opts...); err != nil {
			return nil, explain(err)
		}
		return explainedStream{stream, explain}, nil
	}
	return nil, err
}

// explainedStream is a stream that returns errors of this package.
type explainedStream struct {
	grpc.ClientStream
	explain func(error) error
}

// RecvMsg implements grpc.ClientStream.
func (s explainedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return s.explain(err)
}

func (d *direct) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, l := range d.links {
		_ = l.Close() // fails only if closed before
	}
}
