package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// longRun is the time of a run with a long pause. The last two minutes show numbers that the paused application and others
// give at the same time.
const longRun = 9 * time.Minute

// pausing returns the faults of a seed with a pause of more than 6 minutes: one application pauses, and others are lost and
// replaced meanwhile. The seed decides which one pauses, and moves all times by up to 3 s.
//
// In the first 90 s, four are replaced: their machine numbers, and that of the paused one, lapse if nothing renews them for
// 5 minutes. From 350 s on, another one starts and three are replaced, so that four applications take machine numbers
// after the lapse, and run when the paused one continues.
func pausing(seed uint64) course {
	r := rand.New(rand.NewPCG(seed, 0))
	first := r.IntN(apps)
	second, third := (first+1)%apps, (first+2)%apps
	moved := time.Duration(r.Int64N(int64(3 * time.Second)))
	lose := func(app int, at time.Duration) fault { return fault{Kind: loseApp, At: at + moved, App: app} }
	return course{faults: []fault{{
		Kind: pauseApp, At: 30*time.Second + moved, For: 390 * time.Second, App: first,
		During: []fault{
			lose(second, 45*time.Second), lose(third, 60*time.Second), lose(second, 75*time.Second), lose(third, 90*time.Second),
			{Kind: addApp, At: 350*time.Second + moved},
			lose(second, 365*time.Second), lose(third, 380*time.Second), lose(apps, 395*time.Second),
		},
	}}, length: longRun}
}

// everyCame returns an error if an application was lost or paused before it got a number: no machine number of its own lapsed
// then, and the run shows nothing.
func everyCame(raw string) error {
	came := make(map[string]bool)
	return read(raw, func(e event) error {
		switch {
		case e.sign == '=':
			came[e.who] = true
		case (e.sign == 'x' || e.sign == '(') && e.who != harness && !came[e.who]:
			return fmt.Errorf("%s had no number at %.1f s; repeat the run on a machine with less work", e.who, e.at.Seconds())
		}
		return nil
	})
}
