package fsm

import (
	"fmt"
	"runtime"
	"testing"
	"weak"
)

// TestSettledReservationsLeaveMemory holds a sequence to its present ledger: earlier records of the sequence, and what it forgot, are
// garbage.
func TestSettledReservationsLeaveMemory(t *testing.T) {
	l := newLedgerLog(t, plain("inv", accounted))
	var earlier []weak.Pointer[ledger]
	for i := range 10 {
		r := l.reserves("inv", 0, fmt.Sprint("order ", i))
		earlier = append(earlier, weak.Make(ledgerOf(t, l, "inv")))
		l.must(confirm("inv", claimOf(r)))
	}
	runtime.GC()
	for i, w := range earlier {
		if w.Value() != nil {
			t.Errorf("the ledger after reservation %d of %d is still in memory", i+1, len(earlier))
		}
	}
	runtime.KeepAlive(l)
}

func ledgerOf(t *testing.T, l *log, name string) *ledger {
	t.Helper()
	q, refused := l.sequences.named(name)
	if refused != nil {
		t.Fatal(refused)
	}
	return q.ledger
}
