// Package seed gives random tests the seed of the commit, so that a test gives the same verdict whenever it runs on that
// commit. The gate derives the seed from the commit and passes it in SNOWRAFT_SEED. The default is 1.
package seed

import (
	"flag"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// Of returns the seed of the commit, which is not 0, and logs it.
func Of(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("SNOWRAFT_SEED")
	if text == "" {
		text = "1"
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SNOWRAFT_SEED: %v", err)
	}
	seed = max(1, seed)
	t.Logf("SNOWRAFT_SEED=%d", seed)
	return seed
}

var setOnce sync.Once

// Check is [rapid.Check] with the seed of the commit, unless -rapid.seed or RAPID_SEED sets another one. It draws less often with
// the race detector, unless -rapid.checks sets a number.
func Check(t testing.TB, prop func(*rapid.T)) {
	t.Helper()
	seed := Of(t)
	setOnce.Do(func() {
		if rapidSeed := flag.Lookup("rapid.seed").Value; rapidSeed.String() == "0" {
			_ = rapidSeed.Set(strconv.FormatUint(seed, 10)) // cannot fail
		}
		if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
			_ = checks.Value.Set(strconv.Itoa(depth.Little(10, 100))) // cannot fail
		}
	})
	rapid.Check(t, prop)
}
