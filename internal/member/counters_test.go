package member

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/sequence"
)

// A caller that finds the counter that another first caller is just adding finds it complete.
func TestFirstCallersOfASequence(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	var panics atomic.Int64
	for end := time.Now().Add(time.Second); time.Now().Before(end) && panics.Load() == 0; {
		m.counters.remove("s", func(string) bool { return false })
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				if c, err := m.Counter(t.Context(), "s"); err != nil || !c.Strict() {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
		wg.Wait()
	}
	if panics.Load() > 0 {
		t.Error("a counter that knew nothing")
	}
}

// A strict sequence has no numbers of members' own, until it becomes relaxed.
func TestNumbersOfACounter(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	c, err := m.Counter(t.Context(), "s")
	if err != nil || c.own.numbers() != nil {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := m.NextAtLeader(anyone(t), "s", 1, ""); err != nil {
		t.Fatal(err)
	}
	stats := m.SequenceStats()
	for _, mode := range []commandv1.SequenceMode{commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, commandv1.SequenceMode_SEQUENCE_MODE_STRICT} {
		_, err := m.UpdateSequence(anyone(t), "s", Update{Edit: func(spec *commandv1.SequenceSpec) error {
			spec.Mode = mode
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := m.NextAtLeader(anyone(t), "s", 1, ""); err != nil || n.First == 1 {
			t.Errorf("the next number, %v: %+v, %v", mode, n, err)
		}
	}
	if now := m.SequenceStats(); now.Taken != stats.Taken+1 {
		t.Errorf("%+v after %+v, want one more number", now, stats)
	}
}

// proposing calls meanwhile once, when a call with this context is about to become a proposal, which reads its actor.
type proposing struct {
	context.Context
	meanwhile func()
}

func (p *proposing) Value(key any) any {
	if _, ok := key.(actorKey); ok && p.meanwhile != nil {
		call := p.meanwhile
		p.meanwhile = nil
		call()
	}
	return p.Context.Value(key)
}

// A block that was granted just before the numbers of a request with an ID issues none after them.
func TestBlockBeforeARequestWithAnID(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	var plain Numbering
	n, err := m.NextAtLeader(&proposing{anyone(t), func() {
		var err error
		if plain, err = m.NextAtLeader(anyone(t), "s", 1, ""); err != nil {
			t.Error(err)
		}
	}}, "s", 1, "r")
	if err != nil || plain.First == 0 || n.First <= plain.First {
		t.Fatalf("%d after %d, %v", n.First, plain.First, err)
	}
	if later, err := m.NextAtLeader(anyone(t), "s", 1, ""); err != nil || later.First <= n.First {
		t.Errorf("%d after %d, %v", later.First, n.First, err)
	}
}

// Requests with an ID leave other callers of the sequence their turn, and do not skip
// numbers by the million. All numbers of both are greater than those that were returned before.
func TestNextBesideRequestsWithIDs(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	var wg sync.WaitGroup
	var recorded, plain, returned atomic.Int64
	raise := func(n int64) {
		for was := returned.Load(); n > was && !returned.CompareAndSwap(was, n); {
			was = returned.Load()
		}
	}
	stop := make(chan struct{})
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				before := returned.Load()
				n, err := m.NextAtLeader(anyone(t), "s", 1, fmt.Sprintf("r%d-%d", g, i))
				if err != nil || n.First <= before {
					t.Errorf("%d after %d, %v", n.First, before, err)
					return
				}
				raise(n.First)
				recorded.Add(1)
			}
		})
	}
	for range 200 {
		last := returned.Load()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		n, err := m.NextAtLeader(ctx, "s", 1, "")
		cancel()
		if err != nil || n.First <= last {
			t.Fatalf("%d after %d, %v", n.First, last, err)
		}
		raise(n.First)
		plain.Add(1)
	}
	close(stop)
	wg.Wait()
	s, err := m.Sequence(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	given := recorded.Load() + plain.Load()
	// createStrict's blocks have 10 to 100 numbers, and each request with an ID may end one.
	if limit := given + 100*(recorded.Load()+plain.Load()); s.Last > limit {
		t.Errorf("%d numbers were issued, and the sequence stands at %d", given, s.Last)
	}
	t.Logf("%d for requests with an ID, %d others, the sequence stands at %d", recorded.Load(), plain.Load(), s.Last)
}

// A repeated answer from before the sequence was set back is not the last number.
func TestLastAfterARepetition(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	if _, err := m.NextAtLeader(anyone(t), "s", 1000, "id"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.UpdateSequence(t.Context(), "s", Update{Next: new(int64(1)), Force: Force{Numbers: true}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n, err := m.NextAtLeader(t.Context(), "s", 1, "")
		if err != nil {
			t.Fatal(err)
		}
		if last, ok, err := m.LastAtLeader(t.Context(), "s"); last != n.First || !ok || err != nil {
			t.Errorf("the last number is %d, %v, %v, want %d", last, ok, err, n.First)
		}
		if again, err := m.NextAtLeader(anyone(t), "s", 1000, "id"); err != nil || again.First != 1 || again.Count != 1000 {
			t.Fatalf("%+v, %v", again, err)
		}
	}
}

// Numbers of a repeated answer that no caller saw before count as issued.
func TestLastOfARepetitionThatNobodySaw(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	if _, err := m.NextAtLeader(anyone(t), "s", 5, "id"); err != nil {
		t.Fatal(err)
	}
	// The answer was lost, and so was the leader.
	lt := newLeaderTerm(m)
	m.leaderTerm.Store(lt)
	if n, err := m.NextAtLeader(anyone(t), "s", 5, "id"); err != nil || n.First != 1 {
		t.Fatalf("%+v, %v", n, err)
	}
	if last, ok, err := m.LastAtLeader(t.Context(), "s"); last != 5 || !ok || err != nil {
		t.Errorf("the last number is %d, %v, %v", last, ok, err)
	}
}

func TestBlocksOfStrictSequencesAreTheLeaders(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	if _, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.AllocateBlock(t.Context(), "s", 1, allocator.ReturnKey{}); !errors.Is(err, ErrStrict) {
		t.Errorf("a block: %v", err)
	}
	for token := range uint64(50) {
		if err := m.ReturnBlock(t.Context(), "s", token, 1, allocator.ReturnKey{}); !errors.Is(err, ErrStrict) {
			t.Fatalf("returned: %v", err)
		}
	}
}

// No caller uses up a sequence by requesting a block.
func TestBlocksAreBounded(t *testing.T) {
	m := openOne(t)
	for name, most := range map[string]uint64{"small": 100, "large": 2_000_000} {
		spec := &commandv1.SequenceSpec{Name: name, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: most,
			Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE}
		if _, err := m.CreateSequence(t.Context(), spec, Force{}); err != nil {
			t.Fatal(err)
		}
		want := max(most, limits.Count)
		for _, count := range []uint64{want + 1, 1 << 63, math.MaxUint64} {
			if b, err := m.AllocateBlock(t.Context(), name, count, allocator.ReturnKey{}); err != nil || b.Count != want {
				t.Errorf("%s, asked for %d: %d, %v", name, count, b.Count, err)
			}
			if b, err := m.AllocateBlockOnce(anyone(t), name, count, "r"); !errors.Is(err, allocator.ErrInvalidArgument) {
				t.Errorf("%s, asked for %d once: %d, %v", name, count, b.Count, err)
			}
		}
		if b, err := m.AllocateBlockOnce(anyone(t), name, want, "r"); err != nil || b.Count != want {
			t.Errorf("%s, asked for %d once: %d, %v", name, want, b.Count, err)
		}
		if _, err := m.AllocateBlock(t.Context(), name, 0, allocator.ReturnKey{}); !errors.Is(err, allocator.ErrInvalidArgument) {
			t.Error(err)
		}
	}
}

// A format that was forced stays, and other changes need no force for it.
func TestForcedFormats(t *testing.T) {
	m := openOne(t)
	spec := &commandv1.SequenceSpec{
		Name: "s", Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: 100, Format: "{seq:06}",
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_DAILY,
	}
	for _, force := range []Force{{}, {Numbers: true}} {
		if _, err := m.CreateSequence(t.Context(), spec, force); !errors.Is(err, sequence.ErrInvalidFormat) {
			t.Errorf("CreateSequence(%+v) = %v, although numbers of different days look the same", force, err)
		}
	}
	if _, err := m.CreateSequence(t.Context(), spec, Force{Format: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.UpdateSequence(t.Context(), "s", Update{Next: new(int64(5000))}); err != nil {
		t.Errorf("set forward: %v", err)
	}
	_, err := m.UpdateSequence(t.Context(), "s", Update{Edit: func(s *commandv1.SequenceSpec) error { s.Format = "{seq:07}"; return nil }})
	if err == nil {
		t.Error("UpdateSequence() with another such format = nil, want an error")
	}
	if _, err := m.NextAtLeader(t.Context(), "s", 3, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.DeleteSequence(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateSequence(t.Context(), spec, Force{Format: true}); !refusedFor(err, commandv1.Refusal_REFUSAL_WOULD_REPEAT) {
		t.Errorf("created again on the same day, with the format forced: %v", err)
	}
	if _, err := m.CreateSequence(t.Context(), spec, Force{Numbers: true, Format: true}); err != nil {
		t.Errorf("created again, with both forced: %v", err)
	}
}

func TestGoneSequencesAreForgotten(t *testing.T) {
	m := openOne(t)
	for i := range 300 {
		name := fmt.Sprint("s", i)
		createStrict(t, m, name)
		if _, _, err := m.LastAtLeader(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := m.DeleteSequence(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	m.sweep()
	lt := m.leaderTerm.Load()
	if c, s := len(m.counters.close()), len(lt.close()); c > manyGone(0) || s > manyGone(0) {
		t.Errorf("%d counters and %d strict sequences are kept, and there is no sequence", c, s)
	}
}

// Numbers are written by the definition of their own sequence and generation, also if the sequence
// was changed while the call waited for them.
func TestNumbersAreWrittenByTheirOwnDefinition(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	before, err := m.Counter(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := m.UpdateSequence(t.Context(), "s", Update{Edit: func(s *commandv1.SequenceSpec) error { s.Format = "S{seq}"; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	of := func(generation uint64) allocator.Numbers {
		return allocator.Numbers{First: 7, Count: 1, Increment: 1, Generation: generation}
	}
	if n, err := before.written(t.Context(), of(changed.Sequence.Generation)); err != nil || string(n.Append(nil, 0)) != "S7" {
		t.Errorf("%+v, %v", n, err)
	}
	after, err := m.Counter(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := after.written(t.Context(), of(before.definition.generation)); !errors.Is(err, allocator.ErrOutdatedBlock) {
		t.Errorf("%+v, %v", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if n, err := after.written(ctx, of(1<<40)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", n, err)
	}
}

// TryNext returns the numbers that Next would return without waiting, or none.
func TestTryNext(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "strict")
	if _, err := m.CreateSequence(t.Context(), &commandv1.SequenceSpec{
		Name: "s", Start: 1, Increment: 1, Min: 1, Max: 1000, BlockDurationMs: 1000, MinBlock: 10, MaxBlock: 100, Format: "S{seq}",
		Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: commandv1.SequenceReset_SEQUENCE_RESET_NONE,
	}, Force{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"strict", "s", "unknown"} {
		if n, ok := m.TryNext(name, 1); ok {
			t.Errorf("%s: %+v before the first request for numbers", name, n)
		}
	}
	if n, err := m.NextAtLeader(t.Context(), "s", 1, ""); err != nil || n.First != 1 {
		t.Fatalf("%+v, %v", n, err)
	}
	if n, ok := m.TryNext("s", 2); !ok || n.First != 2 || n.Count != 2 || string(n.Append(nil, 1)) != "S3" {
		t.Errorf("%+v, %v", n, ok)
	}
	if n, ok := m.TryNext("s", 2000); ok {
		t.Errorf("%+v, which no block has", n)
	}
	if _, err := m.DeleteSequence(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	if n, ok := m.TryNext("s", 1); ok {
		t.Errorf("%+v of a sequence that was deleted", n)
	}
}
