//go:build process

package processtest

import (
	"io"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/skew"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// skewed gives a member, which must not be started yet, its own clock.
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

// drillFuture starts a cluster of one member with a clock that is one hour ahead, and corrects the clock.
func drillFuture(d *drill) {
	a := d.cluster(1)[0]
	d.skewed(a, time.Hour)
	a.start().untilIssues()
	pass(d.t, 2*time.Second) // the observed clock follows
	d.setClock(a, 0)
	d.run()
	d.run()
}

// drillNoOtherClock restarts a at a loopback address at which TCP reaches it and UDP does not, and makes it the leader. Gossip
// listens at a third address, because the other members may send to the first address until they know the advertised one.
func drillNoOtherClock(d *drill) {
	const advertised, hidden = "127.0.0.7", "127.0.0.8"
	members := d.started(3)
	a := members[0]
	a.stop()
	_, port, err := net.SplitHostPort(a.gossip)
	if err != nil {
		d.t.Fatal(err)
	}
	gossip := net.JoinHostPort(hidden, port)
	a.flags = append(a.flags, "--advertise-host", advertised, "--gossip-addr", gossip)
	for _, address := range []string{a.api, a.raft, gossip} {
		if _, port, err = net.SplitHostPort(address); err != nil {
			d.t.Fatal(err)
		}
		relay(d.t, net.JoinHostPort(advertised, port), address)
	}
	a.start().untilIssues()
	until(d.t, "a leads", func() bool {
		_, _ = members[1].cluster.TransferLeadership(d.t.Context(), &snowraftv1.TransferLeadershipRequest{Member: a.name})
		return leader(d.t, members) == a
	})
	d.prints(members[2])
	d.run()
	d.run()
}

// relay forwards TCP connections from one address to another until the end of the test.
func relay(t *testing.T, from, to string) {
	t.Helper()
	l, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			for _, c := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(c[0], c[1])
					_ = c[0].Close()
					_ = c[1].Close()
				}()
			}
		}
	}()
}
