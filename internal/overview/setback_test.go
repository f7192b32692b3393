package overview

import (
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
)

func TestVerdictOfMembersSetBack(t *testing.T) {
	t.Parallel()
	verdicts{
		"set back": {
			func() *scene {
				s := newScene("a", "b", "c")
				for _, name := range []string{"a", "b", "c"} {
					s.refuse(name, rpc.SetBack, "it was set back")
					s.view(name).ServesUntilAtMs = 0
				}
				return s
			}, bad,
			"a, b and c issue no IDs: it was set back; no member is issuing IDs; b leads; the cluster tolerates one failure; stop the members, and restore the cluster from all their data directories.",
			[]string{"set-back"},
		},
		"two branches without a majority": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.silence(false, "c")
				s.leader("")
				for name, index := range map[string]uint64{"a": 43, "b": 61} {
					s.refuse(name, rpc.Contradicted, "it was set back")
					s.view(name).ServesUntilAtMs, s.view(name).AppliedIndex = 0, index
				}
				return s
			}, bad,
			"a and b issue no IDs: it was set back (a has index 43, b has index 61); no member that answers is issuing IDs; stop the members, and restore the cluster from all their data directories.",
			[]string{"set-back", "a-member-does-not-start"},
		},
		"set back, and the witness of it": {
			func() *scene {
				s := newScene("a", "b", "c")
				for _, name := range []string{"b", "c"} {
					s.refuse(name, rpc.SetBack, "it was set back")
				}
				s.refuse("a", rpc.Contradicted, "it knows another history")
				for _, name := range []string{"a", "b", "c"} {
					s.view(name).ServesUntilAtMs = 0
				}
				return s
			}, bad,
			"b, c and a issue no IDs: it was set back; no member is issuing IDs; b leads; the cluster tolerates one failure; stop the members, and restore the cluster from all their data directories.",
			[]string{"set-back"},
		},
		"a member was set back, alone": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.refuse("c", rpc.SetBack, "it was set back")
				return s
			}, bad,
			"c issues no IDs: it was set back; 2 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; stop the members, and restore the cluster from all their data directories.",
			[]string{"set-back"},
		},
		"members may have been set back": {
			func() *scene {
				s := newScene("a", "b", "c")
				s.statuses["b"].SetBackSuspected = "c contradicts the history: index 7 differs"
				return s
			}, bad,
			"Members may have been set back to an earlier state: c contradicts the history: index 7 differs; 3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC; if they were, seal the cluster.",
			[]string{"set-back"},
		},
	}.check(t)
}
