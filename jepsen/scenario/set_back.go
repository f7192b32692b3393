//go:build linux

package scenario

import "github.com/snowraft/snowraft/jepsen/check"

// setBackMajority replaces the directories of a majority by earlier copies while the third member is cut off, and reunites
// the members. The third member restarts before, so that it knows only what its disk kept.
func setBackMajority() Scenario {
	return Scenario{
		Name: "set-back", Source: "known from replicated systems whose machines are restored from snapshots",
		Bugs:  []string{"watermark-not-kept", "sealed-member-issues"},
		Other: "A majority that was restored from snapshots elected a leader of the same term, and issued numbers again",
		Loads: []string{"ids"}, MaxWindow: restoredWindow, Secured: true, judge: check.JudgeSetBack,
		script: func(s *stage) error {
			t, err := s.travel(2)
			if err != nil {
				return err
			}
			return t.play(t.copy, t.outrun, t.replace, t.reunite, t.silent, t.kept, t.goOn)
		},
	}
}

// setBackOutrun is setBackMajority, and the members that were set back commit so much that the third one is sent a snapshot.
func setBackOutrun() Scenario {
	return Scenario{
		Name: "set-back-outrun", Source: "known from replicated systems whose machines are restored from snapshots",
		Bugs:  []string{"snapshot-not-judged"},
		Other: "A member that had seen more was overwritten by a snapshot of members that were restored from snapshots",
		Loads: []string{"ids"}, MaxWindow: restoredWindow, Secured: true, judge: check.JudgeSetBack,
		script: func(s *stage) error {
			t, err := s.travel(2)
			if err != nil {
				return err
			}
			return t.play(t.copy, t.outrun, t.replace, t.overtake, t.reunite, t.offered, t.silent, t.kept, t.goOn)
		},
	}
}

// setBackAll replaces the directories of all members by earlier copies. Only a client that was absent meanwhile knows more.
func setBackAll() Scenario {
	return Scenario{
		Name: "set-back-all", Source: "known from replicated systems whose machines are restored from snapshots", Bugs: []string{"receipt-not-checked"},
		Other: "A cluster that was restored from snapshots issued numbers again, and no client noticed",
		Loads: []string{"ids"}, MaxWindow: restoredWindow, Secured: true, judge: check.JudgeSetBack,
		script: func(s *stage) error {
			t, err := s.travel(3)
			if err != nil {
				return err
			}
			return t.play(t.forge, t.copy, t.outrun, t.replace, t.comeBack, t.silent, t.goOn)
		},
	}
}
