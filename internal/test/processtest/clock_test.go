//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"os/exec"
	"testing"

	"github.com/snowraft/snowraft/jepsen/skew"
)

// skipWithoutClocks skips the test on a system on which members' clocks cannot be set.
func skipWithoutClocks(t *testing.T) {
	t.Helper()
	if err := skew.Check(); err != nil {
		t.Skip(err)
	}
}

// startWithClock starts members and waits until they issue IDs. It returns the clock of the last member, which the test can set.
func startWithClock(t *testing.T, members []*member) *skew.Clock {
	t.Helper()
	var clock *skew.Clock
	members[len(members)-1].launch = func(cmd *exec.Cmd) (err error) {
		clock, err = skew.Start(cmd, 0)
		return err
	}
	for _, m := range members {
		m.start()
	}
	t.Cleanup(func() { _ = clock.Close() })
	for _, m := range members {
		m.untilIssues()
	}
	return clock
}
