package frontend

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const (
	// receiptEvery is the time after which a stream in use hands its client another receipt.
	receiptEvery = time.Second
	// maxReceipts bounds the receipts that one call brings: those of a client and of gateways before it.
	maxReceipts = 4
)

// Receipts is the side of the process that knows the cluster's history. Its methods never block.
type Receipts interface {
	// Hand returns a receipt for a client; nil if there is none now.
	Hand() []byte
	// Hear takes a receipt that a caller brought, whatever its bytes are. A proven caller presented a valid token or certificate.
	Hear(receipt []byte, from string, proven bool)
}

// hear passes on the receipts that a call brought.
func (s *Server) hear(ctx context.Context) {
	if s.behind.Receipts == nil {
		return
	}
	brought := metadata.ValueFromIncomingContext(ctx, rpc.Receipt)
	for _, b := range brought[:min(len(brought), maxReceipts)] {
		if b != "" { // a client of HTTP that has none yet
			s.behind.Receipts.Hear([]byte(b), whoBrings(ctx), trust.PrincipalOf(ctx).IsProven())
		}
	}
}

// whoBrings describes the caller to people.
func whoBrings(ctx context.Context) string {
	host := trust.HostOf(Address(ctx))
	if actor := trust.PrincipalOf(ctx).Actor(); actor != trust.Open().Actor() {
		return actor + " at " + host
	}
	return host
}

// exchange hears the receipts of a caller, and adds one to the answer. It looks at calls whose answers have receipts,
// and at failed ones: a client that is refused may know more than this process. Clients of HTTP know receipts if they bring
// one, which may be empty.
func (s *Server) exchange(ctx context.Context, resp any, err error) {
	receipt := receiptOf(resp)
	if s.behind.Receipts == nil || receipt == nil && err == nil || fromHTTP(ctx) && len(metadata.ValueFromIncomingContext(ctx, rpc.Receipt)) == 0 {
		return
	}
	s.hear(ctx)
	if receipt != nil && len(*receipt) == 0 { // the leader may have added its own
		*receipt = s.behind.Receipts.Hand()
	}
}

// receiptOf returns the place of the receipt in an answer; nil if there is none.
func receiptOf(resp any) *[]byte {
	switch resp := resp.(type) {
	case *snowraftv1.GetStatusResponse:
		return &resp.Receipt
	case *snowraftv1.ListMembersResponse:
		return &resp.Receipt
	case *snowraftv1.AcquireWorkerResponse:
		return &resp.Receipt
	case *snowraftv1.ExtendWindowResponse:
		return &resp.Receipt
	case *snowraftv1.AllocateBlockResponse:
		return &resp.Receipt
	default:
		return nil
	}
}
