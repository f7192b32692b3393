//go:build process

package processtest

import (
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/lincheck"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestRelaxedSequence kills the members one after the other, the leader first, while
// clients number with a relaxed sequence.
func TestRelaxedSequence(t *testing.T) {
	t.Parallel()
	// All blocks have one size, which exceeds the sum of the clients' requests. So the cost of a lost
	// block is known.
	const block = 20_000
	clients := depth.Of(32, 64)
	members := startCluster(t, 3)
	n := newNumbering(t, members, &snowraftv1.Sequence{Name: "relaxed", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, MinBlock: block, MaxBlock: block})
	n.clients(clients, 0)
	first := leader(t, members)
	kills := 0
	for _, victim := range append([]*member{first}, others(members, first)...) {
		n.untilMore(t, 1000)
		n.killed(t, victim)
		kills++
	}
	n.untilMore(t, 1000)
	n.stop()

	calls := n.history.Calls()
	if err := lincheck.CheckUnique(calls); err != nil {
		t.Fatal(err)
	}
	checkGaps(t, n, calls, kills, block)
}

// gap is a range of numbers, from first to last, that no client got.
type gap struct {
	first, last int64
	inside      bool // within the numbers of one member, not between two members
}

func (g gap) size() uint64 { return uint64(g.last - g.first + 1) }

// gaps returns the gaps before end, the first number that was not granted.
func gaps(calls []lincheck.Call, end int64) []gap {
	var all []gap
	next, by := int64(1), ""
	for _, c := range lincheck.Numbers(calls) {
		if c.First > next {
			all = append(all, gap{next, c.First - 1, by == c.By})
		}
		next, by = c.Last+1, c.By
	}
	if next < end {
		all = append(all, gap{next, end - 1, false})
	}
	return all
}

// checkGaps fails the test if there are gaps other than the ends of blocks.
//
// Whole blocks, or large parts of them, are lost
//   - with a killed process: its current block, the next one, and a requested
//     block;
//   - with the lost answers of a killed leader, because members repeat their requests:
//     one block by each of the two other members;
//   - at the end, because the test stops before the blocks are used up: these three blocks, by each member.
//
// In addition, a block may end with fewer numbers than a call requested, if the next block belongs to
// another member, and failed calls may have used numbers. Only these cases, and a
// block lost between two blocks of the same member, leave a gap inside the numbers of one member.
func checkGaps(t *testing.T, n *numbering, calls []lincheck.Call, kills int, block uint64) {
	t.Helper()
	resp, err := leader(t, n.members).numbers.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: n.name})
	if err != nil {
		t.Fatal(err)
	}
	end := resp.GetSequence().GetNext()
	lostBlocks := uint64(kills*(3+2) + len(n.members)*3)
	blocks := uint64(end)/block + lostBlocks
	failed := uint64(n.failed)

	var large, small, inside, missing, largest uint64
	for _, g := range gaps(calls, end) {
		missing += g.size()
		largest = max(largest, g.size())
		if g.size() >= mostNumbers {
			large++
		} else {
			small++
		}
		if g.inside {
			inside++
		}
	}
	t.Logf("%d numbers were granted and %d issued in %d calls; %d are missing in %d gaps, the largest of which has %d; %d of the gaps have fewer than %d numbers; %d calls failed",
		end-1, uint64(end-1)-missing, len(calls), missing, large+small, largest, small, mostNumbers, failed)
	if large > lostBlocks {
		t.Errorf("%d gaps of at least %d numbers; %d kills explain at most %d", large, mostNumbers, kills, lostBlocks)
	}
	if small > blocks+failed {
		t.Errorf("%d gaps of fewer than %d numbers; %d blocks and %d failed calls explain at most one each", small, mostNumbers, blocks, failed)
	}
	if most := uint64(kills*(3+2)) + failed; inside > most {
		t.Errorf("%d gaps inside the numbers of one member; %d kills and %d failed calls explain at most %d", inside, kills, failed, most)
	}
	if most := lostBlocks*block + blocks*(mostNumbers-1) + n.lost; missing > most {
		t.Errorf("%d numbers are missing, want at most %d", missing, most)
	}
	if given := uint64(end-1) - missing; given < 10*block {
		t.Errorf("%d numbers were issued, which is too few for a test", given)
	}
}
