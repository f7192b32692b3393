//go:build linux

// Package scenario reproduces known failures of comparable systems against Snowraft. Each
// scenario is a script: faults in a set order, which wait for conditions and not for times. It
// has to show that the situation was reached in which the other system failed, or it is
// invalid; then the checkers of all runs judge what clients saw, and so does the script itself.
package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Scenario is one known failure.
type Scenario struct {
	Name string
	// Source is where the failure is described, and Other what the other system did, in a few words.
	Source, Other string
	// Bug is a deliberate bug that makes the scenario fail, if it is planted in the members.
	Bug string
	// Loads are the workloads that go on meanwhile, beside the script's own clients.
	Loads []string
	// WaitThreshold and MaxWindow are the cluster's, 0 for those of other runs.
	WaitThreshold, MaxWindow time.Duration
	// Strays are hosts for members of another cluster.
	Strays int

	script func(s *stage) error
}

// All are the scenarios there are.
func All() []Scenario {
	return []Scenario{
		staleRange(), deposedLeader(), smallRollback(), workerOverflow(), flippingClock(),
		stoppedPrimary(), rebuiltSequence(), mergedClusters(), recoveredQuorum(), restoredCluster(),
	}
}

// Choose returns the scenarios of these names; "all" are all.
func Choose(names ...string) ([]Scenario, error) {
	all := All()
	if slices.Equal(names, []string{"all"}) {
		return all, nil
	}
	var chosen []Scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q: choose of %s, or all", name, strings.Join(Names(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names lists the scenarios.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}
