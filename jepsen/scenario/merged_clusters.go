//go:build linux

package scenario

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/network"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// mergedClusters gives a member of a second cluster the address of a stopped member of the first cluster. That member then
// contacts the members of both clusters.
func mergedClusters() Scenario {
	return Scenario{
		Name: "merged-clusters", Source: "known from systems that identify peers by their addresses alone", Bugs: []string{"no-cluster-check"},
		Other:  "Clusters that identified peers by their addresses alone became one when an address was reused",
		Loads:  []string{"ids", "strict"},
		Strays: 3,
		script: func(s *stage) error {
			r := &reuse{s: s, first: s.Lab.Founders(), second: s.Lab.Strays()}
			for _, step := range []func() error{r.found, r.move, r.refused, r.apart} {
				if err := step(); err != nil {
					return err
				}
			}
			return r.restore()
		},
	}
}

// reuse holds two clusters. The first member of the second cluster moves to the address of the last member of the first
// cluster.
type reuse struct {
	s             *stage
	first, second []*lab.Member
	ours, theirs  *view           // views of the clusters before the move
	given, taken  int64           // last numbers of the first and the second cluster
	ids           map[uint64]bool // issued IDs of the second cluster
	restore       func() error
}

// found starts the second cluster, and creates a sequence with the same name in both clusters.
func (r *reuse) found() (err error) {
	s := r.s
	for _, m := range r.second {
		m.Seek(len(r.second), r.second...)
	}
	if err := lab.Start(s.ctx, r.second...); err != nil {
		return err
	}
	_ = s.later(func(context.Context) error { down(r.second); return nil })
	if err := s.strict(100); err != nil {
		return err
	}
	if r.ours, err = s.look(s.endpoint(r.first[0]), nil); err != nil {
		return err
	}
	if r.theirs, err = s.look(s.endpoint(r.second[0]), nil); err != nil {
		return err
	}
	if r.ours.cluster == r.theirs.cluster {
		return unreached("both clusters have the ID %s before the move", r.ours.cluster)
	}
	mode := snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
	err = s.until("a sequence in the second cluster", func(ctx context.Context) bool {
		d := s.endpoint(r.second[0])
		if d.err != nil {
			return false
		}
		_, err := snowraftv1.NewSequenceServiceClient(d.conn).CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: orders, Mode: mode},
		})
		return err == nil
	})
	r.ids = make(map[uint64]bool)
	return errors.Join(err, r.take(r.second[1]))
}

// take requests numbers from both clusters, and IDs from the second one. The history records only those of the first
// cluster, because no checker knows the second one.
func (r *reuse) take(theirs *lab.Member) error {
	s := r.s
	op, err := s.numbers(r.first[0], orders, 5)
	if err != nil {
		return err
	}
	if op.First <= r.given {
		s.violation("%s issued %s after %d", r.first[0].Name, describe(op), r.given)
	}
	r.given = highest(op)
	number, ids, err := s.foreign(s.endpoint(theirs), 50)
	if err != nil {
		return err
	}
	if number <= r.taken {
		s.violation("%s of the other cluster issued %d after %d", theirs.Name, number, r.taken)
	}
	r.taken = number + 50 - 1
	for _, id := range ids {
		if r.ids[uint64(id)] {
			s.violation("%s of the other cluster issued %d twice", theirs.Name, id)
		}
		r.ids[uint64(id)] = true
	}
	return nil
}

// move puts the data of the second cluster's first member on the host of the first cluster's last member. A network fault
// keeps the harness's clients away from that host. restore undoes the move.
func (r *reuse) move() error {
	s, host, mover := r.s, r.first[2], r.second[0]
	end := s.begin("address-reused", nemesis.Process, 0, mover.Name+"'s member on the host of "+host.Name, host)
	fault, err := s.Lab.Net.Cut(s.ctx, network.OneWay([]string{network.Harness}, []string{host.Name}), network.All, network.Reject)
	if err != nil {
		end()
		return err
	}
	r.restore = s.later(func(ctx context.Context) error {
		defer end()
		host.Kill()
		host.Seek(0)
		if err := errors.Join(disk.CopyDir(host.Side(), host.Files()), disk.Wipe(host.Side()), fault.Heal(ctx)); err != nil {
			return err
		}
		host.Damaged(false)
		return host.Start(ctx)
	})
	host.Kill()
	mover.Kill()
	if err := errors.Join(host.Harvest(s.ctx), disk.CopyDir(host.Files(), host.Side())); err != nil {
		return err
	}
	host.Damaged(true) // the data there is of another log
	if err := disk.CopyDir(mover.Files(), host.Files()); err != nil {
		return err
	}
	host.Seek(len(r.second), r.first[0], r.first[1], r.second[1], r.second[2])
	return host.Start(s.ctx)
}

// refused waits until all members of the first side have logged a refusal of the other cluster.
func (r *reuse) refused() error {
	s, together := r.s, false
	said := make(map[string]int)
	err := s.until("a refusal in the logs of all members", func(ctx context.Context) bool {
		if together = !r.same(ctx); together {
			return true
		}
		met := true
		for _, m := range r.first {
			n, err := m.Logged("belongs to another cluster")
			said[m.Name] = n
			met = met && err == nil && n > 0
		}
		return met
	})
	if err != nil {
		return err
	}
	if together {
		return unreached("the clusters have merged")
	}
	s.see("%s of the other cluster contacted ours from the address of %s, and was refused (%d log lines of %d members)",
		r.second[0].Name, r.first[2].Name, said[r.first[0].Name]+said[r.first[1].Name]+said[r.first[2].Name], len(said))
	return nil
}

// same reports whether all members that answer belong to their original cluster, with the same members. It does not query
// the member that moved.
func (r *reuse) same(ctx context.Context) bool {
	same := true
	for _, side := range []struct {
		members []*lab.Member
		was     *view
	}{{r.first[:2], r.ours}, {r.second[1:], r.theirs}} {
		for _, m := range side.members {
			now := r.s.endpoint(m).view(ctx)
			if now == nil || now.cluster == side.was.cluster && now.members == side.was.members {
				continue
			}
			r.s.violation("%s belonged to cluster %s with the members %s, and now belongs to %s with %s",
				m.Name, side.was.cluster, side.was.members, now.cluster, now.members)
			same = false
		}
	}
	return same
}

// apart checks that both clusters are unchanged and keep issuing numbers.
func (r *reuse) apart() error {
	s, host := r.s, r.first[2]
	moved, err := s.look(s.endpointFrom(r.second[1], host), func(v *view) bool { return v.leader != "" })
	if err != nil {
		return err
	}
	if moved.cluster != r.theirs.cluster || moved.memberID != r.theirs.memberID {
		s.violation("%s at the address of %s was member %s of cluster %s, and now is %s of %s",
			r.second[0].Name, host.Name, r.theirs.memberID, r.theirs.cluster, moved.memberID, moved.cluster)
	}
	for range 3 {
		if err := r.take(r.second[1]); err != nil {
			return err
		}
	}
	r.same(s.ctx)
	number, ids, err := s.foreign(s.endpointFrom(r.second[1], host), 1)
	if err != nil {
		return err
	}
	r.taken = number
	s.see("both clusters continued with their own members and numbers (%d and %d); at the reused address, a client got "+
		"the number %d and %d IDs of the other cluster, because clients do not check the cluster",
		r.given, r.taken, number, len(ids))
	return nil
}
