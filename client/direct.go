package client

import (
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// direct is the connections of a one-shot client: one to each address, made when its member is
// first asked. It tries the addresses in order, from the one that answered last.
type direct struct {
	members []*endpoint

	mu    sync.Mutex
	first int // index of the member that answered last
}

func newDirect(addrs []string, o *options) *direct {
	d := new(direct)
	for _, addr := range addrs {
		if !slices.ContainsFunc(d.members, func(e *endpoint) bool { return e.addr == addr }) {
			d.members = append(d.members, &endpoint{addr: addr, opts: o})
		}
	}
	return d
}

// Invoke implements grpc.ClientConnInterface. It asks the first member that the try does not avoid,
// and leaves time for the members after it. A request that must not be repeated gets all of the time
// once it is sent.
func (d *direct) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	t, _ := ctx.Value(tryKey{}).(*try)
	member, at, left := d.next(t.avoid)
	t.choose(member.addr, left > 1)
	deadline, _ := ctx.Deadline()
	mine, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
	defer cancel()
	conn, err := member.connect(mine)
	if err != nil {
		return err
	}
	if policyOf(method, req).harmless {
		ctx = mine
	}
	if err := conn.Invoke(ctx, method, req, reply, opts...); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.first = at
	return nil
}

// next returns the member to ask and its index, and how many members are left with it.
func (d *direct) next(avoid []string) (member *endpoint, at, left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.members {
		k := (d.first + i) % len(d.members)
		if slices.Contains(avoid, d.members[k].addr) {
			continue
		}
		if left++; member == nil {
			member, at = d.members[k], k
		}
	}
	return member, at, left
}

// NewStream implements grpc.ClientConnInterface.
func (d *direct) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "a one-shot client has no streams")
}

func (d *direct) close() {
	for _, m := range d.members {
		m.close()
	}
}
