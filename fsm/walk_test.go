package fsm

import (
	"flag"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"
)

var walkSeed = flag.Uint64("fsm.seed", 0, "take only the random walk with this seed")

// drawn lets rapid choose, so that it can shrink a walk. It draws bits: rapid's
// integers are usually small ones, so that most walks would hardly do anything.
type drawn struct{ t *rapid.T }

func (d drawn) choose(label string, n int) int {
	choice := 0
	for range bits.Len(uint(n - 1)) {
		choice <<= 1
		if coin.Draw(d.t, label) {
			choice++
		}
	}
	return choice % n
}

var coin = rapid.Bool()

// seeded chooses by a random number generator: quicker, and each walk has a number.
type seeded struct{ *rand.Rand }

func (s seeded) choose(_ string, n int) int { return s.IntN(n) }

func walk(seed uint64, a adversary, steps int) error {
	return newWorld(seeded{rand.New(rand.NewPCG(seed, 0))}, a, 2+int(seed%2)).run(steps)
}

func TestModel(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		d := drawn{t}
		if err := newWorld(d, adversary{}, 3).run(d.choose("steps", 128)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestModelOfLeases walks in worlds with leases.
func TestModelOfLeases(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= uint64(depth.Of(depth.Little(5, 30), 1000)); seed++ {
		if err := newLeaseWorld(seeded{rand.New(rand.NewPCG(seed, 0))}, adversary{}, 2).run(walkSteps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestModelSeeds(t *testing.T) {
	t.Parallel()
	if *walkSeed != 0 {
		if err := walk(*walkSeed, adversary{}, walkSteps); err != nil {
			t.Fatal(err)
		}
		return
	}
	for seed := uint64(1); seed <= uint64(depth.Of(depth.Little(20, 60), 1000)); seed++ {
		if err := walk(seed, adversary{}, walkSteps); err != nil {
			t.Fatalf("%v\nagain: go test ./fsm -run TestModelSeeds -fsm.seed %d", err, seed)
		}
	}
}

const walkSteps = 150
