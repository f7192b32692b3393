package share

import "testing"

// gathered returns the number of looks before a call. come returns the number of waiting requests at each look.
func gathered(g *gathering, come func(look int) int) (looks int) {
	for g.longer(come(looks)) {
		looks++
	}
	g.ended(come(looks))
	return looks
}

func TestGatheringEndsWithTwiceAsManyRequests(t *testing.T) {
	t.Parallel()
	var g gathering
	for range 100 {
		if looks := gathered(&g, func(look int) int { return 3 + look }); looks != 3 {
			t.Fatalf("ended after %d looks, want 3", looks)
		}
	}
}

func TestGatheringIsRareWithoutArrivals(t *testing.T) {
	t.Parallel()
	var g gathering
	const calls = 10_000
	looks := 0
	for range calls {
		looks += gathered(&g, func(int) int { return 1 })
	}
	if most := calls/maxSkipped*maxGathering + 10*maxGathering; looks > most || looks == 0 {
		t.Errorf("looked %d times in %d calls, want 1 to %d", looks, calls, most)
	}
	// Gathering starts again when other requests come.
	again := 0
	for range maxSkipped + 1 {
		again = gathered(&g, func(look int) int { return 1 + look })
	}
	if again == 0 {
		t.Error("calls do not wait for arriving requests")
	}
}

func TestGatheringWaitsForNothingWithoutRequests(t *testing.T) {
	t.Parallel()
	var g gathering
	if g.longer(0) {
		t.Error("longer(0) = true")
	}
}
