//go:build process

package processtest

import (
	"os"
	"syscall"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// sh runs a command line that is not on the page, and must succeed.
func (d *drill) sh(line string) {
	d.t.Helper()
	if printed := d.shell(hostStep{command: line + " && echo done"}); printed[max(0, len(printed)-4):] != "done" {
		d.t.Fatalf("%s: %s", line, printed)
	}
}

func drillNoLeader(d *drill) {
	members := d.started(3)
	d.sh("snowraft seq create orders")
	members[1].kill()
	members[2].signal(syscall.SIGSTOP)
	d.prints(members[0])
	d.run()
	d.run()
	members[2].signal(syscall.SIGCONT)
}

// drillLostMajority destroys two of three directories. The commands of the page restore a cluster in less than 1 min.
func drillLostMajority(d *drill) {
	members := d.started(3, "--initial-max-window", "3s")
	d.sh("snowraft seq create orders")
	seen := make(map[int64]bool)
	issue := func() {
		d.t.Helper()
		for _, m := range members {
			resp, err := m.generate("", 100)
			if err != nil {
				continue // killed member
			}
			for _, r := range resp.GetRanges() {
				for i := range int64(r.GetCount()) {
					if id := r.GetFirst() + i; seen[id] {
						d.t.Fatalf("ID %d was issued twice", id)
					} else {
						seen[id] = true
					}
				}
			}
		}
	}
	issue()
	d.sh(`test "$(snowraft seq next orders)" -gt 0`)
	for _, m := range members[1:] {
		m.kill()
		if err := os.RemoveAll(m.dir); err != nil {
			d.t.Fatal(err)
		}
	}
	d.prints(members[0])
	issue()
	began := time.Now()
	d.run()
	noted := time.Now().Add(2 * time.Second) // latest possible time
	// It also passes while a person types the next command.
	until(d.t, "the noted time has passed", func() bool { return time.Now().After(noted) })
	d.run()
	d.run()
	if took := time.Since(began); took > time.Minute {
		d.t.Errorf("the commands of the page took %v, want at most 1 min", took)
	}
	for _, m := range members {
		m.untilIssues()
	}
	issue()
	members[0].untilVoters(3)
	d.t.Logf("%d different IDs of both clusters; back after %v", len(seen), time.Since(began).Round(time.Millisecond))
}

func drillCutOff(d *drill) {
	members := d.started(3, "--initial-max-window", "3s")
	members[1].kill()
	members[2].kill()
	d.prints(members[0])
	d.run()
	d.run()
}

func drillGateway(d *drill) {
	members := d.cluster(3)
	d.on("g", newMember(d.t, "g")).gateway(nil, members...)
	d.run()
	d.run()
}

func drillWaits(d *drill) {
	members := d.cluster(3)
	d.prints(members[0].start())
	d.run()
	d.run()
}

// drillUnreached changes a sequence while a member hangs.
func drillUnreached(d *drill) {
	members := d.started(3)
	d.sh("snowraft seq create orders --mode relaxed")
	hangs := others(members, leader(d.t, members))[0]
	if hangs != members[2] { // the page names host c
		until(d.t, "c does not lead", func() bool {
			_, _ = members[0].cluster.TransferLeadership(d.t.Context(), &snowraftv1.TransferLeadershipRequest{Member: members[0].name})
			return leader(d.t, members) != members[2]
		})
		hangs = members[2]
	}
	hangs.signal(syscall.SIGSTOP)
	d.run()
	d.run()
	committed := members[0].status().GetCommitIndex()
	d.run()
	until(d.t, "c has applied the change", func() bool { return members[2].status().GetAppliedIndex() >= committed })
}

func drillWorkers(d *drill) {
	members := d.started(3)
	d.sh("snowraft layout create tiny --fields time:41,worker:1,sequence:12")
	for _, m := range members[:2] {
		until(d.t, "a and b hold a worker", func() bool {
			_, err := m.generate("tiny", 1)
			return err == nil
		})
	}
	d.run()
	d.run()
	d.run()
}
