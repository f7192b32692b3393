package gateway

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/receipt"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/trust"
)

// receipts hands the latest receipt of the members to the gateway's clients, and passes the clients' own on to members. A
// gateway has no secret, so it checks none and keeps none of them. The gateway's client brings the members' receipts back,
// also on behalf of clients that know no receipts.
type receipts struct {
	latest receipt.Latest
	relay  receipt.Relay[string]
}

var _ frontend.Receipts = (*receipts)(nil)

// askEvery is the interval at which a gateway exchanges receipts with a member, for the clients that know no receipts.
const askEvery = time.Second

// run exchanges receipts with members, and passes on those of clients, until ctx ends.
func (r *receipts) run(ctx context.Context, m *members) {
	r.relay.Pass = m.bring
	var relaying sync.WaitGroup
	defer relaying.Wait()
	relaying.Go(func() { r.relay.Run(ctx) })
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			bounded, cancel := context.WithTimeout(ctx, wait)
			_ = m.bring(bounded, "", "") // the next tick asks again
			cancel()
		case <-ctx.Done():
			return
		}
	}
}

// bring brings a client's receipt to a member, if there is one, next to the gateway's own.
func (m *members) bring(ctx context.Context, brought, _ string) error {
	if brought != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, rpc.Receipt, brought)
	}
	_, err := snowraftv1.NewClusterServiceClient(m.conn).ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	return err
}

// Hand implements [frontend.Receipts].
func (r *receipts) Hand() []byte { return r.latest.Bytes() }

// Hear implements [frontend.Receipts].
func (r *receipts) Hear(brought []byte, from string, proven bool) {
	if _, err := trust.ReceiptPosition(brought); err == nil {
		r.relay.Offer(string(brought), from, proven)
	}
}

// keep is the interceptor of calls to members.
func (r *receipts) keep(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil {
		r.latest.Keep(reply)
	}
	return err
}
