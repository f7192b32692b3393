package allocator

import (
	"context"
	"math"
	"math/big"
	"sync/atomic"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/seed"
)

func TestSizes(t *testing.T) {
	if size := unsafe.Sizeof(Sequence{}); size > 500 {
		t.Errorf("a Sequence has %d bytes", size)
	}
	if size := unsafe.Sizeof(stock{}); size != 2*cacheLine {
		t.Errorf("a block has %d bytes, which are not two cache lines", size)
	}
	t.Log(unsafe.Sizeof(Sequence{}))
}

// edge draws numbers around those at which arithmetic fails.
func edge() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-3, 3),
		rapid.Int64Range(math.MaxInt64-3, math.MaxInt64),
		rapid.Int64Range(math.MinInt64, math.MinInt64+3),
	)
}

// A block is plausible if and only if all its numbers fit, and then they are right.
func TestBlocksFitIntoInt64(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		b := Block{Token: 1, Numbers: Numbers{First: edge().Draw(t, "first"), Increment: edge().Draw(t, "increment"), Count: uint64(edge().Draw(t, "count"))}}
		if rapid.Bool().Draw(t, "just") && b.Increment != 0 { // the largest count that fits, or one more
			room := new(big.Int).Sub(big.NewInt(math.MaxInt64), big.NewInt(b.First))
			if b.Increment < 0 {
				room.Sub(big.NewInt(math.MinInt64), big.NewInt(b.First))
			}
			fit := room.Quo(room, big.NewInt(b.Increment))
			b.Count = fit.Uint64() + rapid.Uint64Range(0, 2).Draw(t, "beyond")
		}
		number := func(index uint64) *big.Int {
			n := new(big.Int).SetUint64(index)
			return n.Mul(n, big.NewInt(b.Increment)).Add(n, big.NewInt(b.First))
		}
		fits := b.Count > 0 && b.Count <= maxStock && b.Increment != 0 && number(b.Count-1).IsInt64()
		if plausible(b) != fits {
			t.Fatalf("%+v is plausible: %v", b, !fits)
		}
		if !fits {
			return
		}
		s := newStock(b)
		index := rapid.Uint64Range(0, b.Count-1).Draw(t, "index")
		if got := s.Number(index); number(index).Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("number %d is %d, want %v", index, got, number(index))
		}
		if i, ok := s.take(b.Count); !ok || i != 0 {
			t.Fatal("not whole")
		}
		for _, count := range []uint64{0, 1, math.MaxUint64} {
			if _, ok := s.take(count); ok {
				t.Fatalf("%d more", count)
			}
		}
	})
}

func TestJoinsAreExact(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		draw := func(name string) *stock {
			return newStock(Block{Token: 1, Numbers: Numbers{
				First: edge().Draw(t, name+" first"), Increment: rapid.SampledFrom([]int64{-2, -1, 1, 2, math.MinInt64, math.MaxInt64}).Draw(t, name+" increment"),
				Count: rapid.Uint64Range(1, 3).Draw(t, name+" count"),
			}})
		}
		a, b := draw("a"), draw("b")
		if rapid.Bool().Draw(t, "next") {
			b.Increment = a.Increment
			b.First = a.Number(a.Count-1) + b.Increment // which may wrap around
		}
		if !plausible(a.Block) || !plausible(b.Block) || !b.continues(a) {
			return
		}
		index := rapid.Uint64Range(0, a.Count).Draw(t, "index")
		j := a.joined(index, b)
		if !plausible(j.Block) || j.Count != a.Count-index+b.Count || j.Number(j.Count-1) != b.Number(b.Count-1) || index < a.Count && j.First != a.Number(index) {
			t.Fatalf("%+v and %+v make %+v", a.Block, b.Block, j.Block)
		}
	})
}

// alone grants blocks of 100 numbers, with a gap after each, or contiguous.
type alone struct{ token, gap uint64 }

func (a *alone) AllocateBlock(context.Context, string, uint64, ReturnKey) (Block, error) {
	a.token++
	return Block{Token: a.token, Numbers: Numbers{First: int64(a.token * (100 + a.gap)), Count: 100, Increment: 1, Generation: 1}}, nil
}

func (*alone) ReturnBlock(context.Context, string, uint64, uint64, ReturnKey) error { return nil }

// A caller that read a block before it was put aside gets no number from it afterwards.
func TestBlocksAreClosedWhenPutAside(t *testing.T) {
	for name, c := range map[string]struct {
		gap   uint64
		aside func(*Sequence) error
	}{
		"dropped":  {0, func(s *Sequence) error { s.DropBefore(2); return nil }},
		"closed":   {0, func(s *Sequence) error { return s.Close(context.Background()) }},
		"joined":   {0, func(s *Sequence) error { _, err := s.Next(context.Background(), 100); return err }},
		"skipped":  {1, func(s *Sequence) error { _, err := s.Next(context.Background(), 100); return err }},
		"outdated": {0, func(s *Sequence) error { s.revision.Add(1); _, _ = s.Last(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := OpenSequence(SequenceConfig{
				Name: "n", Granter: &alone{gap: c.gap}, Clock: clock.System(), Revision: new(atomic.Uint64),
				Current: func() (uint64, int32, bool) { return 2, 0, true },
			})
			if _, err := s.Next(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			held := s.current.Load()
			if err := c.aside(s); err != nil {
				t.Fatal(err)
			}
			if _, ok := held.take(1); ok || s.current.Load() == held {
				t.Error("the stock still issues numbers")
			}
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
