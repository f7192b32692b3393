package fsm

import (
	"bytes"
	"fmt"
	"testing"
)

// TestSnapshotSharesLedgers writes a snapshot while commands change the ledger that it shares.
func TestSnapshotSharesLedgers(t *testing.T) {
	m := New(Options{})
	index := uint64(0)
	generation := func() uint64 {
		q, _ := m.Sequence("inv")
		return q.Generation
	}
	reserve := func(key string) Reservation {
		index++
		r := m.Apply(entryAt(t, index, reserveIn("inv", generation(), 0, key))).(Result)
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		return r.Reservations[0]
	}
	index++
	m.Apply(entryAt(t, index, at(epoch, raise(Version))))
	index++
	m.Apply(entryAt(t, index, create(plain("inv", reusing), 0)))
	for i := range 500 {
		r := reserve(fmt.Sprint("key-", i))
		index++
		m.Apply(entryAt(t, index, void("inv", "canceled", claimOf(r))))
	}
	var before bytes.Buffer
	m.View(func(s *State) { before.Write(snapshotBytes(t, s)) })
	capture, err := m.Capture()
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan []byte)
	go func() {
		var b bytes.Buffer
		_, _ = capture.WriteTo(&b)
		written <- b.Bytes()
	}()
	for i := range 500 {
		r := reserve(fmt.Sprint("later-", i))
		index++
		m.Apply(entryAt(t, index, confirm("inv", claimOf(r))))
	}
	if got := <-written; !bytes.Equal(got, before.Bytes()) {
		t.Error("the snapshot is not the state at its capture")
	}
}
