package receipt

import (
	"bytes"
	"testing"

	"github.com/snowraft/snowraft/internal/test/vectors"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestReceiptVectors(t *testing.T) {
	type step struct {
		Receipt []byte `json:"receipt"` // base64
		Keeps   bool   `json:"keeps"`
	}
	version2 := of(1, 0, 50)
	version2[0] = 2
	var steps []step
	var l Latest
	for _, receipt := range [][]byte{
		{}, []byte("malformed"), of(1, 0, 20), of(1, 0, 10), of(1, 0, 20), of(1, 0, 1<<40), of(1, 0, 1<<40-1), version2, of(1, 0, 1<<41)[:92],
		of(2, 1, 5), of(1, 0, 1<<50), of(3, 1, 4), of(3, 1, 3), of(1, 0, 1<<63),
	} {
		before := l.Bytes()
		l.Keep(&snowraftv1.GetStatusResponse{Receipt: receipt})
		steps = append(steps, step{receipt, !bytes.Equal(l.Bytes(), before)})
	}
	vectors.Check(t, "../..", "receipts.json", map[string]any{
		"about": "Receipts in the order in which a client gets them, and whether it keeps each in place of the one before; see README.md",
		"steps": steps,
	})
}
