package fsm

import (
	"flag"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var walkSeed = flag.Uint64("fsm.seed", 0, "take only the random walk with this seed")

// drawn lets rapid choose, so that it can shrink a walk.
type drawn struct{ t *rapid.T }

func (d drawn) choose(label string, n int) int { return rapid.IntRange(0, n-1).Draw(d.t, label) }

// seeded chooses by a random number generator: quicker, and each walk has a number.
type seeded struct{ *rand.Rand }

func (s seeded) choose(_ string, n int) int { return s.IntN(n) }

func walk(seed uint64, a adversary, steps int) error {
	return newWorld(seeded{rand.New(rand.NewPCG(seed, 0))}, a, 2+int(seed%2)).run(steps)
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.IntRange(1, 120).Draw(t, "steps")
		if err := newWorld(drawn{t}, adversary{}, 3).run(steps); err != nil {
			t.Fatal(err)
		}
	})
}

func TestModelSeeds(t *testing.T) {
	if *walkSeed != 0 {
		if err := walk(*walkSeed, adversary{}, walkSteps); err != nil {
			t.Fatal(err)
		}
		return
	}
	walks := uint64(2000)
	if testing.Short() {
		walks = 200
	}
	for seed := uint64(1); seed <= walks; seed++ {
		if err := walk(seed, adversary{}, walkSteps); err != nil {
			t.Fatalf("%v\nagain: go test ./fsm -run TestModelSeeds -fsm.seed %d", err, seed)
		}
	}
}

const walkSteps = 150
