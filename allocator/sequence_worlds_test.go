package allocator_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"
)

func drawWorld(t *rapid.T) world {
	chance := rapid.SampledFrom([]int{0, 0, 5, 30})
	return world{
		seed:      rapid.Uint64().Draw(t, "seed"),
		increment: rapid.SampledFrom([]int64{1, -1, 5}).Draw(t, "increment"),
		delay:     rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Millisecond}).Draw(t, "delay"),
		lag:       rapid.SampledFrom([]time.Duration{0, 30 * time.Millisecond}).Draw(t, "lag"),
		skew:      rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, -50 * time.Millisecond}).Draw(t, "skew"),
		period:    rapid.SampledFrom([]time.Duration{0, 200 * time.Millisecond}).Draw(t, "period"),
		length:    rapid.SampledFrom([]uint64{0, 0, 2000}).Draw(t, "length"),
		min:       rapid.SampledFrom([]uint64{1, 10, 100}).Draw(t, "min"),
		fails:     chance.Draw(t, "fails"),
		lost:      chance.Draw(t, "lost"),
		others:    chance.Draw(t, "others"),
		changes:   chance.Draw(t, "changes"),
		drops:     chance.Draw(t, "drops"),
		hostile:   chance.Draw(t, "hostile"),
	}
}

func TestSequenceModel(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		if fault := walk(t, drawWorld(rt)); fault != "" {
			rt.Fatal(fault)
		}
	})
}

// Worlds in which the clock, other callers and changes of the definition coincide with hostile answers: each
// planted bug of blocks shows in one of them.
func TestSequenceModelOfHostileWorlds(t *testing.T) {
	for seed := range uint64(depth.Of(depth.Little(10, 40), 100)) {
		r := rand.New(rand.NewPCG(seed, 0))
		fault := walk(t, world{
			seed: seed, increment: 1, min: 50,
			delay: time.Duration(r.Int64N(int64(5 * time.Millisecond))),
			fails: 5, lost: 5, others: 30, changes: 10, hostile: 20,
		})
		if fault != "" {
			t.Fatalf("seed %d: %s", seed, fault)
		}
	}
}
