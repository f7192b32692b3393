//go:build linux

// Package scenario reproduces known failures of comparable systems against Snowraft. Each scenario is a script that makes
// faults in a fixed order, and waits for conditions instead of times. A scenario is invalid unless it reached the
// situation in which the other system failed. The script and the checkers of all runs judge the results of clients. [Do]
// plays a [Scenario].
package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/check"
)

// Scenario is the reproduction of one known failure.
type Scenario struct {
	Name string
	// Source names the description of the failure. Other describes the failure of the other system in a few words.
	Source, Other string
	// Bugs are planted bugs; each makes the scenario fail.
	Bugs []string
	// Loads are the workloads that run in addition to the script's clients.
	Loads []string
	// WaitThreshold and MaxWindow configure the cluster; 0 means the default of runs.
	WaitThreshold, MaxWindow time.Duration
	// Strays are hosts for members of another cluster.
	Strays int
	// Twins are hosts for members of the cluster that begin without one.
	Twins int
	// Secured gives the members a secret.
	Secured bool

	script func(s *stage) error
	// judge, if not nil, replaces the checkers of all runs.
	judge func(dir string) (*check.Run, []check.Verdict, error)
}

// All returns all scenarios.
func All() []Scenario {
	return []Scenario{
		staleRange(), deposedLeader(), smallRollback(), workerOverflow(), flippingClock(),
		stoppedPrimary(), rebuiltSequence(), mergedClusters(), recoveredQuorum(), restoredCluster(),
		setBackMajority(), setBackOutrun(), setBackAll(), twoLives(),
	}
}

// Choose returns the scenarios with these names. The single name "all" selects all scenarios.
func Choose(names ...string) ([]Scenario, error) {
	all := All()
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	var chosen []Scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown scenario %q; choose from %s, or all", name, strings.Join(Names(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names returns the names of all scenarios.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}
