package seed

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckDrawsBySeedOfCommit(t *testing.T) {
	t.Setenv("SNOWRAFT_SEED", "20261128")
	Check(t, func(*rapid.T) {})
	if got := flag.Lookup("rapid.seed").Value.String(); got != "20261128" {
		t.Errorf("-rapid.seed=%s, want the seed of the commit", got)
	}
}

func TestSeedIsFixedByDefault(t *testing.T) {
	for text, want := range map[string]uint64{"": 1, "0": 1, "4294967295": 4294967295} {
		t.Setenv("SNOWRAFT_SEED", text)
		if got := Of(t); got != want {
			t.Errorf("Of() = %d with SNOWRAFT_SEED=%q, want %d", got, text, want)
		}
	}
}
