package fsm

import (
	"errors"
	"flag"
	"testing"

	"github.com/snowraft/snowraft/internal/test/depth"
)

var (
	walks       = flag.Uint64("fsm.walks", uint64(depth.Of(depth.Little(20, 50), 200)), "how many walks each weaker adversary takes")
	weakerDepth = flag.Int("fsm.weaker", depth.Of(depth.Little(3, 4), 5), "how many steps the exhaustive search with a weaker adversary goes")
)

// weaker lists adversaries that do less to the log than the adversary of the other tests, or look at less. They
// show the purpose of each rule: which planted bug repeats IDs, and under which adversary.
var weaker = map[string]adversary{
	"ids":      {idsOnly: true},
	"ids-once": {idsOnly: true, noRepeat: true, noForge: true},
	"once":     {noRepeat: true, noForge: true},
}

func TestWeakerAdversaries(t *testing.T) {
	t.Parallel()
	for name, a := range weaker {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= *walks; seed++ {
				if err := walk(seed, a, walkSteps); err != nil && fails(t, err) {
					return
				}
			}
		})
	}
}

func TestSearchWithWeakerAdversaries(t *testing.T) {
	t.Parallel()
	for name, a := range weaker {
		t.Run(name, func(t *testing.T) {
			if _, err := explore(*weakerDepth, a); err != nil {
				fails(t, err)
			}
		})
	}
}

// fails ends a subtest in failure with the violation's name, so that a planted bug's patch can say which it shows.
// It reports whether that subtest was among those to run.
func fails(t *testing.T, err error) bool {
	return !t.Run(violatedWhat(err), func(t *testing.T) { t.Error(err) })
}

func violatedWhat(err error) string {
	if v, ok := errors.AsType[violation](err); ok {
		return v.what
	}
	return "other"
}
