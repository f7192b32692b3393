package redis

import "testing"

// gathered returns the number of looks before a departure. come returns the number of waiting connections at each look.
func gathered(g *gathering, come func(look int) int) (looks int) {
	for g.longer(come(looks)) {
		looks++
	}
	g.departed(come(looks))
	return looks
}

func TestGatheringEndsWithTwiceAsManyConnections(t *testing.T) {
	t.Parallel()
	var g gathering
	for range 100 {
		if looks := gathered(&g, func(look int) int { return 3 + look }); looks != 3 {
			t.Fatalf("departed after %d looks, want 3", looks)
		}
	}
}

func TestGatheringIsRareWithoutArrivals(t *testing.T) {
	t.Parallel()
	var g gathering
	const departures = 10_000
	looks := 0
	for range departures {
		looks += gathered(&g, func(int) int { return 1 })
	}
	if most := departures/maxSkipped*maxGathering + 10*maxGathering; looks > most || looks == 0 {
		t.Errorf("looked %d times in %d departures, want 1 to %d", looks, departures, most)
	}
	// Gathering starts again when other connections come.
	again := 0
	for range maxSkipped + 1 {
		again = gathered(&g, func(look int) int { return 1 + look })
	}
	if again == 0 {
		t.Error("departures do not wait for arriving connections")
	}
}

func TestGatheringWaitsForNothingWithoutConnections(t *testing.T) {
	t.Parallel()
	var g gathering
	if g.longer(0) {
		t.Error("longer(0) = true")
	}
}
