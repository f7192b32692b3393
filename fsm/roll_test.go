package fsm

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
)

// TestImagesStayAsTheyWere takes images while workers are acquired, extended and released: none changes later.
func TestImagesStayAsTheyWere(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		l := newLog(t, crowded)
		type taken struct {
			image  image
			digest [32]byte
		}
		var images []taken
		now := epoch
		for range rapid.IntRange(1, 300).Draw(rt, "steps") {
			now += 10
			number := rapid.IntRange(0, 100).Draw(rt, "worker")
			used := l.layouts["crowd"].workers.count()
			switch kind := rapid.IntRange(0, 9).Draw(rt, "kind"); {
			case kind == 0:
				digest := l.Digest()
				images = append(images, taken{l.imageAlone(), digest})
			case number >= used:
				l.must(at(now, acquireCrowd(fmt.Sprint("holder-", number%7))))
			case kind < 6:
				g := l.layouts["crowd"].workers.granted(number)
				cmd := extend(g, nonceHash('x'), g.Until, 600_000)
				cmd.GetExtendWindow().Layout = "crowd"
				l.do(at(now, cmd))
			default:
				g := l.layouts["crowd"].workers.granted(number)
				cmd := release(g, nonceHash('x'), g.Until)
				cmd.GetReleaseWorker().Layout = "crowd"
				l.do(at(now, cmd))
			}
		}
		for i, was := range images {
			if was.image.digest() != was.digest {
				rt.Fatalf("image %d of %d changed", i, len(images))
			}
		}
	})
}
