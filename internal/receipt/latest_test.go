package receipt

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

func of(cluster byte, life uint32, index uint64) []byte {
	return trust.Receipts{}.Make(position.Position{Cluster: [16]byte{cluster}, Life: life, Index: index})
}

// TestLatestIsKept hands out receipts in an order in which answers of several members may arrive.
func TestLatestIsKept(t *testing.T) {
	var l Latest
	if got := l.Bring(t.Context()); got != t.Context() || l.Bytes() != nil {
		t.Errorf("brings %x before the first receipt", l.Bytes())
	}
	for i, step := range []struct{ handed, kept []byte }{
		{nil, nil},
		{[]byte("malformed"), nil},
		{of(1, 0, 20), of(1, 0, 20)},
		{of(1, 0, 10), of(1, 0, 20)},
		{nil, of(1, 0, 20)},
		{of(1, 0, 30), of(1, 0, 30)},
		{of(2, 1, 5), of(2, 1, 5)}, // restored
		{of(1, 0, 40), of(2, 1, 5)},
		{of(3, 1, 4), of(3, 1, 4)}, // another cluster
	} {
		l.Keep(&snowraftv1.GetStatusResponse{Receipt: step.handed})
		if !bytes.Equal(l.Bytes(), step.kept) {
			t.Errorf("step %d: keeps %x, want %x", i, l.Bytes(), step.kept)
		}
	}
	l.Keep(&snowraftv1.GenerateIdsResponse{}) // a message without receipts
	sent, _ := metadata.FromOutgoingContext(l.Bring(t.Context()))
	if got := sent.Get(rpc.Receipt); len(got) != 1 || got[0] != string(of(3, 1, 4)) {
		t.Errorf("brings %x", got)
	}
}
