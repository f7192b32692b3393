//go:build linux

package scenario

import "github.com/snowraft/snowraft/jepsen/check"

// setBackMajority replaces the directories of a majority by earlier copies while the third member is cut off, and reunites
// the members. The third member restarts before, so that it knows only what its disk kept.
func setBackMajority() Scenario {
	return Scenario{
		Name: "set-back", Source: "known from replicated systems whose machines are restored from snapshots", Bug: "watermark-not-kept",
		Other: "A majority that was restored from snapshots elected a leader of the same term, and issued numbers again",
		Loads: []string{"ids"}, MaxWindow: restoredWindow, Secured: true, judge: check.JudgeSetBack,
		script: func(s *stage) error {
			t, err := s.travel(2)
			if err != nil {
				return err
			}
			return t.play(t.copy, t.outrun, t.replace, t.reunite, t.silent, t.goOn)
		},
	}
}

// setBackAll replaces the directories of all members by earlier copies. Only a client that was absent meanwhile knows more.
func setBackAll() Scenario {
	return Scenario{
		Name: "set-back-all", Source: "known from replicated systems whose machines are restored from snapshots", Bug: "receipt-not-checked",
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
