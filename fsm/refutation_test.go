package fsm

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A replica that has not applied a grant yet does not refute the claims of its holder.
func TestRefutationWaitsForTheLog(t *testing.T) {
	ahead, behind := newLog(t, tiny), newLog(t, tiny)
	for _, l := range []*log{ahead, behind} {
		l.must(at(epoch, acquire("a/0", 1000)))
	}
	grant := ahead.must(at(epoch, acquire("b/0", 1000))).Grant
	for what, claim := range map[string]*commandv1.Command{
		"extension": at(epoch, extend(grant, nonceHash('b'), grant.Until, 1000)),
		"release":   at(epoch, release(grant, nonceHash('b'), grant.From)),
	} {
		for name, l := range map[string]*log{"ahead": ahead, "behind": behind} {
			if refused := l.Refutation(claim); refused != nil {
				t.Errorf("%s of the replica that is %s: %v", what, name, refused)
			}
		}
	}
	if refused := ahead.Refutation(at(epoch, extend(grant, nonceHash('a'), grant.Until, 1000))); refused == nil {
		t.Error("the claim of another start is not refuted")
	}
}

// Several goroutines may refute claims at the same time, so a refutation changes nothing: not even the pieces of workers that a
// snapshot shares.
func TestRefutationOnlyReads(t *testing.T) {
	l := newLog(t, tiny)
	grant := l.must(at(epoch, acquire("a/0", 1000))).Grant
	l.imageAlone()
	shared := l.layouts["tiny"].workers.pieces[0]
	for _, claim := range []*commandv1.Command{
		at(epoch, extend(grant, nonceHash('a'), grant.Until, 1000)), at(epoch, release(grant, nonceHash('a'), grant.From)),
	} {
		l.Refutation(claim)
		if l.layouts["tiny"].workers.pieces[0] != shared {
			t.Errorf("the refutation of %v copied workers", claim)
		}
	}
}
