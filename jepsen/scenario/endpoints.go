//go:build linux

package scenario

import (
	"context"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// endpoint is a connection to a member's address, at which another member may answer.
type endpoint struct {
	name string
	conn *grpc.ClientConn
	err  error
}

// endpoint returns the shared connection to a member's address.
func (s *stage) endpoint(m *lab.Member) endpoint {
	conn, err := s.conn(m)
	return endpoint{m.Name, conn, err}
}

// endpointFrom returns a connection from another host, for an address that the harness cannot reach. The connection is
// closed when the script ends.
func (s *stage) endpointFrom(from, to *lab.Member) endpoint {
	dial := func(ctx context.Context, address string) (conn net.Conn, err error) {
		err = from.Host.Do(func() (err error) {
			conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
			return err
		})
		return conn, err
	}
	conn, err := grpc.NewClient("passthrough:///"+to.Address(lab.PortAPI),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial))
	if err == nil {
		_ = s.later(func(context.Context) error { return conn.Close() })
	}
	return endpoint{to.Name, conn, err}
}

// view holds the facts that a member reports about itself and its cluster.
type view struct {
	cluster, memberID, leader string
	members                   string // IDs of the members, sorted
}

// look queries a member until it reports a leader, and good accepts the view. good may be nil.
func (s *stage) look(e endpoint, good func(v *view) bool) (v *view, err error) {
	if e.err != nil {
		return nil, e.err
	}
	err = s.until("a status of "+e.name+" with a leader", func(ctx context.Context) bool {
		v = e.view(ctx)
		return v != nil && v.leader != "" && (good == nil || good(v))
	})
	return v, err
}

// view queries a member once. It returns nil if the member does not answer.
func (e endpoint) view(ctx context.Context) *view {
	if e.err != nil {
		return nil
	}
	cluster := snowraftv1.NewClusterServiceClient(e.conn)
	ctx, cancel := context.WithTimeout(ctx, statusWithin)
	defer cancel()
	status, err := cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	if err != nil {
		return nil
	}
	list, err := cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return nil
	}
	var ids []string
	for _, m := range list.GetMembers() {
		ids = append(ids, m.GetId())
	}
	slices.Sort(ids)
	return &view{status.GetClusterId(), status.GetMemberId(), status.GetLeaderId(), strings.Join(ids, " ")}
}

// foreign requests count numbers and 100 IDs without a record in the history. It returns the first number and the IDs.
func (s *stage) foreign(e endpoint, count uint32) (first int64, ids []int64, err error) {
	if e.err != nil {
		return 0, nil, e.err
	}
	err = s.until("numbers and IDs of "+e.name, func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, statusWithin)
		defer cancel()
		numbers, err := snowraftv1.NewSequenceServiceClient(e.conn).NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: orders, Count: count})
		if err != nil {
			return false
		}
		got, err := snowraftv1.NewIdServiceClient(e.conn).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 100, Packed: new(true)})
		first, ids = numbers.GetFirst(), got.GetIds()
		return err == nil
	})
	return first, ids, err
}
