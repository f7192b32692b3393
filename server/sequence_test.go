package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

func (n *node) createSequence(s *snowraftv1.Sequence) *snowraftv1.Sequence {
	n.t.Helper()
	resp, err := n.sequences.CreateSequence(n.t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s})
	if err != nil {
		n.t.Fatal(err)
	}
	if len(resp.GetUnreachedMembers()) > 0 {
		n.t.Fatalf("unreached: %q", resp.GetUnreachedMembers())
	}
	return resp.GetSequence()
}

func (n *node) next(name string, count uint32) []int64 {
	n.t.Helper()
	resp, err := n.sequences.Next(n.t.Context(), &snowraftv1.NextRequest{Sequence: name, Count: count})
	if err != nil {
		n.t.Fatal(err)
	}
	return values(resp)
}

func values(resp *snowraftv1.NextResponse) []int64 {
	var all []int64
	for i := range int64(resp.GetCount()) {
		all = append(all, resp.GetFirst()+i*resp.GetIncrement())
	}
	return all
}

func strict(name string) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{Name: name, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
}

func TestSequencesFromAnyMember(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	for i, n := range nodes {
		name := fmt.Sprintf("order:%d/x.y", i)
		created := n.createSequence(&snowraftv1.Sequence{Name: name})
		if created.GetStart() != 1 || created.GetNext() != 1 || created.GetBlockDurationMs() != 10_000 || created.GetMode() != snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED {
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
					t.Errorf("%d was given out before", v)
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
}

// The first block of a sequence keeps to its limits, so that a gap does.
func TestBlocksKeepToTheirLimits(t *testing.T) {
	t.Parallel()
	n := startCluster(t, 1)[0]
	for most, want := range map[uint64]int64{5: 6, 10: 11, 1000: 101} {
		name := fmt.Sprintf("at-most-%d", most)
		n.createSequence(&snowraftv1.Sequence{Name: name, MinBlock: 1, MaxBlock: most})
		n.next(name, 1)
		resp, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: name})
		if err != nil || resp.GetSequence().GetNext() != want {
			t.Errorf("%s: the next block begins with %d, %v; expected %d", name, resp.GetSequence().GetNext(), err, want)
		}
	}
}

func TestStrictNumbersAscendOverAllMembers(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	nodes[0].createSequence(strict("s"))
	var last int64
	for i := range 60 {
		n := nodes[i%3]
		if i == 30 { // another leader goes on above
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
				t.Fatalf("%s says that the last is %d, %v; it is %d", o.cfg.Name, resp.GetLast(), err, last)
			}
		}
	}
}

// Callers of one follower share forwarded calls, and each gets its own numbers.
func TestStrictNumbersOfManyCallers(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	nodes[0].createSequence(strict("s"))
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			var last int64
			for range 20 {
				resp, err := nodes[i%3].sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "s", Count: uint32(1 + i%4)})
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
}

func TestFormatsAndTexts(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	for _, mode := range []snowraftv1.SequenceMode{snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT} {
		name := "invoice" + mode.String()
		nodes[0].createSequence(&snowraftv1.Sequence{Name: name, Mode: mode, Format: "INV-{seq:03}", Start: proto.Int64(998)})
		for _, n := range nodes {
			resp, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: name, Count: 3})
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range resp.GetTexts() {
				if want := fmt.Sprintf("INV-%03d", resp.GetFirst()+int64(i)); text != want {
					t.Errorf("%s, expected %s", text, want)
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
		{Name: "x", TimeZone: "Nowhere/City"},
		{Name: "x", Increment: proto.Int64(0)},
		{Name: "with space"},
		{Name: "x", Mode: 7},
		{Name: ""},
		nil,
	} {
		if _, err := nodes[0].sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: s}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("creating %v: %v", s, err)
		}
	}
}

func TestRefusalsOfSequences(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	n := except(nodes, leader(t, nodes))[0]
	n.createSequence(&snowraftv1.Sequence{Name: "orders"})
	n.createSequence(&snowraftv1.Sequence{Name: "three", Max: proto.Int64(3)})
	_, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "order", Count: 1})
	if reason(err) != rpc.UnknownSequence || status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), `"orders"`) {
		t.Errorf("an unknown sequence: %v", err)
	}
	for _, count := range []uint32{0, 1_000_001} {
		if _, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "orders", Count: count}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("count %d: %v", count, err)
		}
	}
	if got := n.next("three", 3); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
	if _, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "three", Count: 1}); reason(err) != rpc.SequenceExhausted {
		t.Errorf("after the last number: %v", err)
	}
	n.createSequence(strict("s"))
	if _, err := n.sequences.AllocateBlock(t.Context(), &snowraftv1.AllocateBlockRequest{Sequence: "s", Count: 1}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a block of a strict sequence: %v", err)
	}
}

// A relaxed sequence that needs a block waits for a leader, and says so if there is none.
func TestRelaxedNumbersWaitForTheNextLeader(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	l := leader(t, nodes)
	l.createSequence(&snowraftv1.Sequence{Name: "s"})
	rest := except(nodes, l)
	l.crash()
	for _, n := range rest {
		if got := n.next("s", 1); len(got) != 1 {
			t.Errorf("got %v", got)
		}
	}
	rest[0].crash()
	n := rest[1]
	resp, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "s", Count: 100_000})
	if e := rpc.FromError(err); e.Reason != rpc.NoLeader || e.Code != codes.Unavailable || e.RetryAfter == 0 {
		t.Errorf("without a majority: %v, %+v", resp, e)
	}
}

// No member gives out a number of before once a change has returned.
func TestChangesReachAllMembers(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	n := except(nodes, leader(t, nodes))[0]
	n.createSequence(&snowraftv1.Sequence{Name: "s"})
	for _, o := range nodes {
		o.next("s", 1) // each has a block now
	}
	for at := int64(100_000); at <= 500_000; at += 100_000 {
		resp, err := n.sequences.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: at})
		if err != nil || len(resp.GetUnreachedMembers()) > 0 {
			t.Fatalf("%v, %v", resp, err)
		}
		for _, o := range nodes {
			if got := o.next("s", 1)[0]; got < at {
				t.Fatalf("%s gives out %d after the sequence was set to %d", o.cfg.Name, got, at)
			}
		}
	}
	if _, err := n.sequences.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: 7}); reason(err) != rpc.WouldRepeat {
		t.Errorf("set back: %v", err)
	}
	if _, err := n.sequences.SetNext(t.Context(), &snowraftv1.SetNextRequest{Sequence: "s", Next: 7, Force: true}); err != nil {
		t.Fatal(err)
	}
	if got := nodes[0].next("s", 1)[0]; got >= 100_000 {
		t.Errorf("got %d after the sequence was set back", got)
	}
	resp, err := n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: "s", Increment: proto.Int64(10), Description: "tens"}, Force: true,
	})
	if err != nil || resp.GetSequence().GetDescription() != "tens" || resp.GetSequence().GetBlockDurationMs() != 10_000 {
		t.Fatalf("%v, %v", resp, err)
	}
	for _, o := range nodes {
		if got := o.next("s", 2); got[1] != got[0]+10 {
			t.Errorf("%s gives out %v", o.cfg.Name, got)
		}
	}
	// A mask clears what it names and the message leaves out.
	resp, err = n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: "s"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
	})
	if err != nil || resp.GetSequence().GetDescription() != "" || resp.GetSequence().GetIncrement() != 10 {
		t.Errorf("%v, %v", resp, err)
	}
	if _, err := n.sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{
		Sequence: &snowraftv1.Sequence{Name: "s"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"generation"}},
	}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a mask that names what can't be changed: %v", err)
	}
	if _, err := n.sequences.DeleteSequence(t.Context(), &snowraftv1.DeleteSequenceRequest{Name: "s"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range nodes {
		if _, err := o.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "s", Count: 1}); reason(err) != rpc.UnknownSequence {
			t.Errorf("after the deletion: %v", err)
		}
	}
	if _, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s"}}); reason(err) != rpc.WouldRepeat {
		t.Errorf("created again: %v", err)
	}
}

// A member that is not alive does not hold a change up, and is named.
func TestChangesNameUnreachedMembers(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	down := except(nodes, leader(t, nodes))[0]
	down.stop()
	n := leader(t, except(nodes, down))
	began := time.Now()
	resp, err := n.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s"}})
	if err != nil || !slices.Equal(resp.GetUnreachedMembers(), []string{down.cfg.Name}) {
		t.Errorf("%v, %v", resp, err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	nodes[0].createSequence(&snowraftv1.Sequence{Name: "relaxed", Format: "{date:yyyyMMddHHmmss}-{seq}"})
	nodes[0].createSequence(strict("strict"))
	for _, name := range []string{"relaxed", "strict"} {
		before := nodes[0].next(name, 3)
		req := &snowraftv1.NextRequest{Sequence: name, Count: 5, RequestId: "r1"}
		first, err := nodes[0].sequences.Next(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		after := nodes[0].next(name, 1)[0]
		if name == "strict" && (first.GetFirst() <= before[2] || after <= first.GetFirst()+4) {
			t.Errorf("strict: %v, then %v, then %d", before, first, after)
		}
		for _, n := range nodes {
			again, err := n.sequences.Next(t.Context(), req)
			if err != nil || !proto.Equal(again, first) {
				t.Errorf("repeated: %v, %v; at first: %v", again, err, first)
			}
		}
		if name == "strict" {
			if got := nodes[1].next(name, 1)[0]; got <= after {
				t.Errorf("%d after %d", got, after)
			}
		}
		if _, err := nodes[0].sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: name, Count: 6, RequestId: "r1"}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("another request under the same ID: %v", err)
		}
	}
	block := &snowraftv1.AllocateBlockRequest{Sequence: "relaxed", Count: 2000, RequestId: "b1"}
	one, err := nodes[1].sequences.AllocateBlock(t.Context(), block)
	if err != nil {
		t.Fatal(err)
	}
	two, err := nodes[2].sequences.AllocateBlock(t.Context(), block)
	if err != nil || one.GetBlock().GetFirst() != two.GetBlock().GetFirst() || one.GetBlock().GetCount() != 2000 {
		t.Errorf("%v and %v, %v", one, two, err)
	}
}

// Restarts in good order leave no gaps.
func TestTailsAreReturned(t *testing.T) {
	t.Parallel()
	n := startCluster(t, 1)[0]
	n.createSequence(&snowraftv1.Sequence{Name: "relaxed"})
	n.createSequence(strict("strict"))
	for i := range int64(3) {
		for _, name := range []string{"relaxed", "strict"} {
			if got := n.next(name, 1)[0]; got != i+1 {
				t.Errorf("%s: %d, expected %d", name, got, i+1)
			}
		}
		n.stop()
		n.start().untilReady()
	}
}

// TestNotUnknownAfterRestart restarts one member of three alone. It can't know
// which sequences there are until a leader tells it how much of its log counts.
func TestNotUnknownAfterRestart(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr = "127.0.0.1:0" })
	n := nodes[1]
	n.createSequence(&snowraftv1.Sequence{Name: "orders"})
	n.createSequence(strict("strict"))
	for _, o := range nodes {
		o.cfg.GossipAddr = o.server.GossipAddr() // where the others look for it
		o.stop()
	}
	n.start()
	ask := func() map[string]error {
		_, next := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "orders", Count: 1})
		_, get := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "orders"})
		_, last := n.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: "orders"})
		return map[string]error{"Next": next, "GetSequence": get, "GetLast": last}
	}
	for call, err := range ask() {
		if reason(err) != rpc.NoLeader || status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "the leader did not say") {
			t.Errorf("%s without a quorum: %v", call, err)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: n.server.RedisAddr(), MaxRetries: -1})
	defer client.Close()
	if got, err := client.Exists(t.Context(), "orders").Result(); err == nil || !strings.HasPrefix(err.Error(), "LOADING ") {
		t.Errorf("EXISTS without a quorum: %d, %v", got, err)
	}
	// Who asks while the member catches up waits, whatever the sequence turns out to be.
	held := make(chan error, 1)
	go func() {
		for {
			_, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "strict", Count: 1})
			if reason(err) != rpc.NoLeader {
				held <- err
				return
			}
		}
	}()
	nodes[0].start()
	if err := <-held; err != nil {
		t.Errorf("a strict sequence on the way: %v", err)
	}
	until(t, "the sequence is known again", func() bool {
		for call, err := range ask() {
			if reason(err) == rpc.UnknownSequence {
				t.Fatalf("%s on the way: %v", call, err)
			}
			if err != nil {
				return false
			}
		}
		return true
	})
	if got, err := client.Exists(t.Context(), "orders", "nosuch").Result(); err != nil || got != 1 {
		t.Errorf("EXISTS: %d, %v", got, err)
	}
	if _, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "nosuch"}); reason(err) != rpc.UnknownSequence {
		t.Errorf("another sequence: %v", err)
	}
}

// A member of no cluster yet can't know what there is, and says so at all doors.
func TestNothingIsUnknownOutsideOfACluster(t *testing.T) {
	t.Parallel()
	n := newNode(t, "alone", func(c *server.Config) {
		c.RedisAddr, c.Join = "127.0.0.1:0", []string{"127.0.0.1:1"}
	}).start()
	client := redis.NewClient(&redis.Options{Addr: n.server.RedisAddr(), MaxRetries: -1})
	defer client.Close()
	var all sync.WaitGroup // each waits for a leader
	for call, ask := range map[string]func() error{
		"Next": func() error {
			_, err := n.sequences.Next(t.Context(), &snowraftv1.NextRequest{Sequence: "s", Count: 1})
			return err
		},
		"GetSequence": func() error {
			_, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "s"})
			return err
		},
		"GetLast": func() error {
			_, err := n.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: "s"})
			return err
		},
		"GetLayout": func() error {
			_, err := n.layouts.GetLayout(t.Context(), &snowraftv1.GetLayoutRequest{Name: "s"})
			return err
		},
		"GenerateIds": func() error {
			_, err := n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Layout: "s", Count: 1})
			return err
		},
	} {
		all.Go(func() {
			if err := ask(); reason(err) != rpc.NoLeader {
				t.Errorf("%s: %v", call, err)
			}
		})
	}
	for _, command := range []string{"GET", "EXISTS", "INCR"} {
		all.Go(func() {
			if got, err := client.Do(t.Context(), command, "s").Result(); err == nil || !strings.HasPrefix(err.Error(), "LOADING ") {
				t.Errorf("%s: %v, %v", command, got, err)
			}
		})
	}
	all.Go(func() {
		resp, err := http.Get("http://" + n.server.HTTPAddr() + "/seq/s")
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("/seq: %s", resp.Status)
		}
	})
	all.Wait()
}

// A member of another cluster forwards to an address that is this member's now.
func TestForwardedFromAnotherCluster(t *testing.T) {
	t.Parallel()
	n := startCluster(t, 1)[0]
	n.createSequence(strict("s"))
	ctx := metadata.AppendToOutgoingContext(t.Context(), rpc.ForwardedBy, "someone", rpc.ForwardedInto, "another-cluster")
	refused := func(what string, err error) {
		if reason(err) != rpc.OtherCluster {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := n.sequences.Next(ctx, &snowraftv1.NextRequest{Sequence: "s", Count: 1})
	refused("Next", err)
	_, err = n.sequences.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: "s"})
	refused("GetLast", err)
	_, err = n.cluster.AwaitIndex(ctx, &snowraftv1.AwaitIndexRequest{})
	refused("AwaitIndex", err)
	_, err = n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "s", Count: 1})
	refused("AllocateBlock", err)
}
