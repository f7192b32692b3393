package check

import "github.com/snowraft/snowraft/jepsen/history"

// inPeriod judges the period of a new number of a reservation, and counts those of an earlier period. A key that has a number keeps it, also
// one of another period.
func (b *books) inPeriod(at place, op history.Op) {
	if op.Claim.Attempt != 1 || op.Only == "" {
		return
	}
	if at.period != op.Only {
		b.v.fail("operation %d reserved the number %v, and requested the period %s", op.ID, at, op.Only)
	}
	b.v.Facts["reserved_late"]++
}

// countLate counts the numbers of a period before the latest one of their sequence.
func (b *books) countLate(at place) {
	if latest := b.latest[at.sequence]; at.period < latest {
		b.v.Facts["late"]++
	}
	b.latest[at.sequence] = max(b.latest[at.sequence], at.period)
}

// judgeTexts judges the texts that clients read back. A number that the cluster issued may be unknown to it after a restore, and is never
// one that was not granted.
func (b *books) judgeTexts() {
	for _, op := range b.decoded {
		b.v.Facts["decoded"]++
		issued, known := b.byText[[2]string{op.Key, op.Text}]
		switch at := (place{op.Key, op.Period, op.First}); {
		case !known:
			b.v.fail("operation %d read the text %q of %q, which was not issued", op.ID, op.Text, op.Key)
		case at != issued:
			b.v.fail("operation %d read the text %q as the number %v, and it was issued as %v", op.ID, op.Text, at, issued)
		case op.State == history.StateNotGranted:
			b.v.fail("operation %d read the text %q as the number %v, which was not granted, although it was issued in operation %d",
				op.ID, op.Text, at, b.texts[issued].ID)
		}
	}
}

// The shares of what happens in the workload are so large that these floors hold with certainty, once there were as many chances.
const (
	surelyTexts    = 100 // texts, with one that is read back, and a late number
	surelyReserved = 400 // numbers, with a void, a reused and a late one
	surelyCrashes  = 20  // crashes, with a number that a reconcile loop settled
)

// documentFloors makes the run invalid if too little happened.
func documentFloors(v *Verdict) {
	least := func(fact string, chances bool) {
		if chances && v.Facts[fact] == 0 {
			v.invalid("%s: 0, expected at least 1", fact)
		}
	}
	least("documents", true)
	least("texts", true)
	least("backfilled", true)
	least("decoded", v.Facts["texts"] >= surelyTexts)
	least("late", v.Facts["texts"] >= surelyTexts)
	least("void", v.Facts["reserved"] >= surelyReserved)
	least("reused", v.Facts["reserved"] >= surelyReserved)
	least("reconciled", v.Facts["crashes"] >= surelyCrashes)
	least("reserved_late", v.Facts["reserved"] >= surelyReserved)
}
