package simtest

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
)

// A sealed member of which the disk is set back to a copy of before the seal is sealed again by a member that keeps the seal. While
// that one is down, the witness contradicts the copy instead. No member issues anything.
func TestSealedMemberSetBack(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"another keeps the seal": true, "the one that keeps the seal is down": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, options{unaudited: true}, func(w *world) {
				witness, others := w.forked(anotherTerm)
				had := witness.disk.entries()
				again, keeper := others[0], others[1]
				was := again.image()
				w.net.heal()
				w.sealedBy(noticed, others)
				w.until(recovery, "a leader contradicts the witness", func() bool { return witness.proc().member.Node().Contradiction() != nil })
				if !kept {
					keeper.crash()
					witness.crash()
					witness.start() // votes until a leader contradicts it
				}
				again.setBackTo(was)
				stopped := func(n *node, as error) bool {
					err := n.proc().issue(1, 0)
					if err == nil {
						t.Fatalf("%s issues after the seal", n.name)
					}
					return errors.Is(err, as)
				}
				if kept {
					w.until(recovery, "it is sealed again", func() bool { return stopped(again, allocator.ErrSetBack) })
				} else {
					w.until(recovery, "both branches stop", func() bool {
						return stopped(again, allocator.ErrContradicted) && stopped(witness, allocator.ErrContradicted)
					})
					keeper.start() // and finds no majority
				}
				for range 20 {
					w.pass(time.Second)
					for _, n := range w.nodes {
						stopped(n, nil)
					}
				}
				w.keeps(witness, had)
			})
		})
	}
}

// Soon after a seal, the replicas compare their present states: one that has entries of both branches halts.
func TestSealComparesReplicas(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		w.untilAllIssue(recovery)
		w.pass(10 * time.Second) // beyond the comparison after the election
		if err := w.leader().proc().member.Seal(w.Context(), nil, "", "the operator says so"); err != nil {
			w.Fatal(err)
		}
		w.pass(noticed)
		for _, n := range w.nodes {
			var index uint64
			n.proc().member.State().View(func(s *fsm.State) { index, _ = s.LastCheckpoint() })
			if sealed := n.proc().member.State().Sealed(); sealed == nil || index <= sealed.GetIndex()+1 {
				w.Errorf("%s: checkpoint at %d, %v", n.name, index, sealed)
			}
		}
	})
}
