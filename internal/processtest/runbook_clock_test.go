//go:build process

package processtest

import (
	"os/exec"
	"time"

	"github.com/snowraft/snowraft/jepsen/skew"
)

// skewed gives a member that is not started yet a clock of its own.
func (d *drill) skewed(m *member, offset time.Duration) {
	d.t.Helper()
	if err := skew.Check(); err != nil {
		d.t.Skip(err)
	}
	m.launch = func(cmd *exec.Cmd) (err error) {
		clock, err := skew.Start(cmd, offset)
		if err != nil {
			return err
		}
		d.clocks[m] = clock
		d.t.Cleanup(func() { _ = clock.Close() })
		return nil
	}
}

// setClock sets the clock of a member, now and at its next start.
func (d *drill) setClock(m *member, offset time.Duration) {
	d.t.Helper()
	if err := d.clocks[m].Set(offset); err != nil {
		d.t.Fatal(err)
	}
	d.skewed(m, offset)
}

func (d *drill) skewedCluster() *member {
	d.t.Helper()
	members := d.cluster(3)
	d.skewed(members[2], 0)
	for _, m := range members {
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	return members[2]
}

func drillClockBehind(d *drill) {
	c := d.skewedCluster()
	d.setClock(c, -5*time.Second)
	d.run()
	d.run()
	d.setClock(c, -5*time.Second)
	d.run()
}

func drillClockAhead(d *drill) {
	c := d.skewedCluster()
	d.setClock(c, 5*time.Second)
	d.run()
	d.run()
}

// drillFuture starts a cluster of one member with a clock that is an hour ahead, and corrects the clock.
func drillFuture(d *drill) {
	a := d.cluster(1)[0]
	d.skewed(a, time.Hour)
	a.start().untilIssues()
	pass(d.t, 2*time.Second) // the observed clock follows
	d.setClock(a, 0)
	d.run()
	d.run()
}
