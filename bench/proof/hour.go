package main

import (
	"math/rand/v2"
	"time"
)

const (
	earlier  = 40 * time.Second // time of the calls an hour before
	hourRun  = 2 * time.Minute
	skipped  = time.Hour - 60*time.Second // step of the clocks after these calls
	hourMost = 3 * time.Second            // the seed moves faults by less
)

// hour returns the faults of a seed in which clocks go back by one hour, into the time of earlier calls. To save the hour, all clocks
// are behind during the earlier calls, and go forward to the right time while everything is stopped.
func hour(seed uint64) course {
	r := rand.New(rand.NewPCG(seed, 0))
	moved := time.Duration(r.Int64N(int64(hourMost)))
	lasts := func() time.Duration { return least + time.Duration(r.Int64N(int64(most-least))) }
	return course{clock: -skipped, length: hourRun, faults: []fault{
		{Kind: passHour, At: earlier},
		{Kind: hourApp, At: 62*time.Second + moved, For: lasts(), App: r.IntN(apps)},
		{Kind: hourPrimary, At: 83*time.Second + moved, For: lasts()},
	}}
}
