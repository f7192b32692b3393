package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// createSequence creates a sequence that all members know. A slow member may not acknowledge it in time, or may seem to be not
// alive for a moment. Then createSequence repeats the call, which changes nothing.
func (n *node) createSequence(s *snowraftv1.Sequence) *snowraftv1.Sequence {
	n.t.Helper()
	var created *snowraftv1.Sequence
	until(n.t, "all members know the sequence "+s.GetName(), func() bool {
		resp, err := n.sequences.CreateSequence(n.t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s})
		if err != nil {
			n.t.Fatal(err)
		}
		created = resp.GetSequence()
		return len(resp.GetUnreachedMembers()) == 0
	})
	return created
}

func (n *node) next(name string, count uint32) []int64 {
	n.t.Helper()
	resp, err := n.sequences.NextNumbers(n.t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: count})
	if err != nil {
		n.t.Fatal(err)
	}
	return values(resp)
}

func values(resp *snowraftv1.NextNumbersResponse) []int64 {
	var all []int64
	for i := range int64(resp.GetCount()) {
		all = append(all, resp.GetFirst()+i*resp.GetIncrement())
	}
	return all
}

func strict(name string) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
}

func relaxed(name string) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}
}

func TestSequencesFromAnyMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for i, n := range nodes {
			name := fmt.Sprintf("order:%d/x.y", i)
			created := n.createSequence(&snowraftv1.Sequence{Name: name})
			if created.GetStart() != 1 || created.GetNext() != 1 || created.GetBlockDurationMs() != 10_000 || created.GetMode() != snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT {
				t.Errorf("created %v", created)
			}
			n.createSequence(&snowraftv1.Sequence{Name: name}) // again
			seen := make(map[int64]bool)
			for _, o := range nodes {
				got := o.next(name, 50)
				got = append(got, o.next(name, 1)...)
				if !slices.IsSorted(got) {
					t.Errorf("a member's numbers do not ascend: %v", got)
				}
				for _, v := range got {
					if seen[v] || v < 1 {
						t.Errorf("%d was issued before", v)
					}
					seen[v] = true
				}
			}
		}
		list, err := nodes[0].sequences.ListSequences(t.Context(), &snowraftv1.ListSequencesRequest{PageSize: 2, Prefix: "order:"})
		if err != nil || len(list.GetSequences()) != 2 || list.GetNextPageToken() != "order:1/x.y" {
			t.Errorf("the first page: %v, %v", list, err)
		}
		list, err = nodes[1].sequences.ListSequences(t.Context(), &snowraftv1.ListSequencesRequest{PageSize: 2, Prefix: "order:", PageToken: list.GetNextPageToken()})
		if err != nil || len(list.GetSequences()) != 1 || list.GetNextPageToken() != "" {
			t.Errorf("the last page: %v, %v", list, err)
		}
	})
}

// The first block of a sequence stays within its limits, so that a gap does too.
func TestBlocksKeepToTheirLimits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		for most, want := range map[uint64]int64{5: 6, 10: 11, 1000: 101} {
			name := fmt.Sprintf("at-most-%d", most)
			n.createSequence(&snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, MinBlock: 1, MaxBlock: most})
			n.next(name, 1)
			resp, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: name})
			if err != nil || resp.GetSequence().GetNext() != want {
				t.Errorf("%s: the next block begins with %d, %v, want %d", name, resp.GetSequence().GetNext(), err, want)
			}
		}
	})
}

func TestStrictNumbersAscendOverAllMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].createSequence(strict("s"))
		var last int64
		for i := range 60 {
			n := nodes[i%3]
			if i == 30 { // another leader continues with higher numbers
				to := nodes[slices.IndexFunc(nodes, func(n *node) bool { return !n.leads() })]
				if _, err := n.cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{Member: to.cfg.Name}); err != nil {
					t.Fatal(err)
				}
			}
			for _, v := range n.next("s", uint32(1+i%5)) {
				if v <= last {
					t.Fatalf("%d after %d", v, last)
				}
				last = v
			}
			for _, o := range nodes {
				if resp, err := o.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: "s"}); err != nil || resp.GetLast() != last {
					t.Fatalf("%s: GetLast() = %d, %v, want %d", o.cfg.Name, resp.GetLast(), err, last)
				}
			}
		}
	})
}

// Callers of the same follower share forwarded calls, and each caller gets its own numbers.
func TestStrictNumbersOfManyCallers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].createSequence(strict("s"))
		var mu sync.Mutex
		seen := make(map[int64]bool)
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				var last int64
				for range 20 {
					resp, err := nodes[i%3].sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "s", Count: uint32(1 + i%4)})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, v := range values(resp) {
						if seen[v] || v <= last {
							t.Errorf("%d after %d, seen before: %v", v, last, seen[v])
						}
						seen[v], last = true, v
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	})
}

func TestFormatsAndTexts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, mode := range []snowraftv1.SequenceMode{snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT} {
			name := "invoice" + mode.String()
			nodes[0].createSequence(&snowraftv1.Sequence{Name: name, Mode: mode, Format: "INV-{seq:03}", Start: proto.Int64(998)})
			for _, n := range nodes {
				resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 3})
				if err != nil {
					t.Fatal(err)
				}
				for i, text := range resp.GetTexts() {
					if want := fmt.Sprintf("INV-%03d", resp.GetFirst()+int64(i)); text != want {
						t.Errorf("%s, want %s", text, want)
					}
				}
				if len(resp.GetTexts()) != 3 || resp.GetFormat() == "" {
					t.Errorf("%s answers %v", n.cfg.Name, resp)
				}
			}
		}
		for _, s := range []*snowraftv1.Sequence{
			{Name: "x", Format: "no number"},
			{Name: "x", Format: "{date:yyyy}{seq}", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY},
			{Name: "x", Format: "{date:yyyy}{seq}", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, YearStarts: "04-01"},
			{Name: "x", Format: "{date:yyyy}{week}{seq}", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_WEEKLY},
			{Name: "x", YearStarts: "02-29"},
			{Name: "x", YearStarts: "April"},
			{Name: "x", TimeZone: "Nowhere/City"},
			{Name: "x", Increment: proto.Int64(0)},
			{Name: "with space"},
			{Name: "x", Description: "two\nlines"},
			{Name: "x", Mode: 7},
			{Name: ""},
			nil,
		} {
			if _, err := nodes[0].sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s}); status.Code(err) != codes.InvalidArgument {
				t.Errorf("creating %v: %v", s, err)
			}
		}
	})
}

// Numbers of fiscal years, quarters and weeks have the same texts at each member, whether the leader or the member writes them.
func TestCalendarsOfSequences(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, c := range []struct {
			reset  snowraftv1.SequenceReset
			format string
			text   func(now time.Time, number int) string
		}{
			{snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, "{fy:yyyy-yy}/{seq:02}", func(now time.Time, number int) string {
				began := now.AddDate(0, -3, 0).Year()
				return fmt.Sprintf("%d-%02d/%02d", began, (began+1)%100, number)
			}},
			{snowraftv1.SequenceReset_SEQUENCE_RESET_QUARTERLY, "{fy}Q{quarter}-{seq}", func(now time.Time, number int) string {
				began := now.AddDate(0, -3, 0)
				return fmt.Sprintf("%dQ%d-%d", began.Year()+1, (began.Month()+2)/3, number)
			}},
			{snowraftv1.SequenceReset_SEQUENCE_RESET_WEEKLY, "{weekyear}W{week}-{seq}", func(now time.Time, number int) string {
				year, week := now.ISOWeek()
				return fmt.Sprintf("%dW%02d-%d", year, week, number)
			}},
		} {
			s := &snowraftv1.Sequence{Name: c.format, Reset_: c.reset, YearStarts: "04-01", Format: c.format}
			made, err := nodes[0].sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s})
			if err != nil || made.GetSequence().GetYearStarts() != "04-01" || made.GetSequence().GetReset_() != c.reset {
				t.Fatalf("%v: %v", made, err)
			}
			number := 0
			for _, n := range nodes {
				for _, count := range []uint32{2, 1001} { // members write the texts of short answers
					resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: c.format, Count: count})
					if err != nil {
						t.Fatal(err)
					}
					if resp.GetYearStarts() != "04-01" || resp.GetFormat() != c.format {
						t.Errorf("the answer has %v", resp)
					}
					if texts := resp.GetTexts(); count == 2 && (len(texts) != 2 || texts[0] != c.text(time.UnixMilli(resp.GetIssuedAtMs()).UTC(), number+1)) {
						t.Errorf("%q instead of %q", texts, c.text(time.UnixMilli(resp.GetIssuedAtMs()).UTC(), number+1))
					}
					number = int(resp.GetFirst()) + int(count) - 1
				}
			}
			update := func(s *snowraftv1.Sequence, force bool) codes.Code {
				_, err := nodes[1].sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
					Sequence: s, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"year_starts"}}, ForceFormat: force,
				})
				return status.Code(err)
			}
			withYears := c.reset != snowraftv1.SequenceReset_SEQUENCE_RESET_WEEKLY
			if code := update(&snowraftv1.Sequence{Name: c.format, YearStarts: "07-01"}, true); withYears != (code == codes.FailedPrecondition) {
				t.Errorf("another start of years of %s: %v", c.format, code)
			}
		}
	})
}

func TestRefusalsOfSequences(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := except(nodes, leader(t, nodes))[0]
		n.createSequence(&snowraftv1.Sequence{Name: "orders"})
		n.createSequence(&snowraftv1.Sequence{Name: "three", Max: proto.Int64(3)})
		_, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "order", Count: 1})
		if reason(err) != rpc.UnknownSequence || status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), `"orders"`) {
			t.Errorf("an unknown sequence: %v", err)
		}
		for _, count := range []uint32{0, 1_000_001} {
			if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: count}); status.Code(err) != codes.InvalidArgument {
				t.Errorf("count %d: %v", count, err)
			}
		}
		if got := n.next("three", 3); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("got %v", got)
		}
		if _, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "three", Count: 1}); reason(err) != rpc.SequenceExhausted {
			t.Errorf("after the last number: %v", err)
		}
		n.createSequence(strict("s"))
		if _, err := n.sequences.AllocateBlock(t.Context(), &snowraftv1.AllocateBlockRequest{Sequence: "s", Count: 1}); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a block of a strict sequence: %v", err)
		}
	})
}

// The token of a block is a log index, which is easy to guess.
func TestBlocksAreReturnedByTheirKeyOnly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := leader(t, startCluster(t, 1))
		n.createSequence(relaxed("s"))
		key, other := []byte("key of the block"), []byte("key of a strange")
		allocate := func(key []byte, id string) (*snowraftv1.Block, error) {
			resp, err := n.sequences.AllocateBlock(t.Context(), &snowraftv1.AllocateBlockRequest{Sequence: "s", Count: 100, ReturnKey: key, RequestId: id})
			return resp.GetBlock(), err
		}
		giveBack := func(b *snowraftv1.Block, key []byte) error {
			return second(n.sequences.ReturnBlock(t.Context(), &snowraftv1.ReturnBlockRequest{Sequence: "s", Token: b.GetToken(), Unused: 50, ReturnKey: key}))
		}
		for _, c := range []struct {
			key []byte
			id  string
		}{{key[1:], ""}, {append(key[:16:16], 0), ""}, {key, "r"}} {
			if _, err := allocate(c.key, c.id); reason(err) != rpc.InvalidArgument {
				t.Errorf("key of %d bytes, request ID %q: %v", len(c.key), c.id, err)
			}
		}
		block, err := allocate(key, "")
		if err != nil {
			t.Fatal(err)
		}
		for want, keys := range map[string][][]byte{rpc.InvalidArgument: {nil, key[1:]}, rpc.NotLastBlock: {other}} {
			for _, k := range keys {
				if err := giveBack(block, k); reason(err) != want {
					t.Errorf("returned with %q: %v, want %s", k, err, want)
				}
			}
		}
		if err := giveBack(block, key); err != nil {
			t.Errorf("returned with its key: %v", err)
		}
		keyless, err := allocate(nil, "")
		if err != nil || keyless.GetFirst() != block.GetFirst()+50 {
			t.Errorf("the next block: %v, %v", keyless, err)
		}
		if err := giveBack(keyless, key); reason(err) != rpc.NotLastBlock {
			t.Errorf("returned a block without a key: %v", err)
		}
	})
}

// A request for relaxed numbers that needs a block waits for a leader, and reports a missing leader.
func TestRelaxedNumbersWaitForTheNextLeader(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		l := leader(t, nodes)
		l.createSequence(relaxed("s"))
		rest := except(nodes, l)
		l.crash()
		for _, n := range rest {
			var resp *snowraftv1.NextNumbersResponse
			if err := pastElection(func() (err error) {
				resp, err = n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1})
				return err
			}); err != nil || resp.GetCount() != 1 {
				t.Fatalf("%s: %v, %v", n.cfg.Name, resp, err)
			}
		}
		rest[0].crash()
		n := rest[1]
		resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 100_000})
		if e := rpc.FromError(err); e.Reason != rpc.NoLeader || e.Code != codes.Unavailable || e.RetryAfter == 0 {
			t.Errorf("without quorum: %v, %+v", resp, e)
		}
	})
}

// Graceful restarts leave no gaps.
func TestRestartReturnsUnusedNumbers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.createSequence(relaxed("relaxed"))
		n.createSequence(strict("strict"))
		for i := range int64(3) {
			for _, name := range []string{"relaxed", "strict"} {
				if got := n.next(name, 1)[0]; got != i+1 {
					t.Errorf("%s: %d, want %d", name, got, i+1)
				}
			}
			n.stop()
			n.start().untilReady()
		}
	})
}
