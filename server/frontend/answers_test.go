package frontend

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
)

// coded is a source that knows one sequence with codes.
type coded struct{ kernel.Source }

func (coded) Coded(sequence string) bool { return sequence == "vouchers" }

// TestMemoryOfNumbers checks that a request takes memory for its answer: an answer with codes has a text for each number, however many.
func TestMemoryOfNumbers(t *testing.T) {
	t.Parallel()
	s := &Server{kernel: &kernel.Kernel{Source: coded{}}}
	for _, c := range []struct {
		sequence string
		count    uint32
		want     int64
	}{
		{"orders", 1, 0},
		{"orders", limits.Formatted, limits.Formatted * textBytes},
		{"orders", limits.Formatted + 1, 0},
		{"vouchers", limits.Formatted + 1, (limits.Formatted + 1) * textBytes},
		{"vouchers", limits.Texts, limits.Texts * textBytes},
		{"vouchers", limits.Texts + 1, 0}, // refused
	} {
		if got := s.weight(&snowraftv1.NextNumbersRequest{Sequence: c.sequence, Count: c.count}); got != c.want {
			t.Errorf("%d numbers of %s take %d bytes, want %d", c.count, c.sequence, got, c.want)
		}
	}
}

// TestMemoryOfCodes compares the memory for a code with the size of its message and of its encoding.
func TestMemoryOfCodes(t *testing.T) {
	t.Parallel()
	answer := &snowraftv1.NextNumbersResponse{}
	for range 1000 {
		answer.Texts = append(answer.Texts, "VOUCHER-2026-7K2M9QXA-0")
	}
	const header = 16 // bytes per string
	if need := 1000*header + 2*proto.Size(answer); need > 1000*textBytes {
		t.Errorf("1000 codes take %d bytes, more than %d", need, 1000*textBytes)
	}
}
