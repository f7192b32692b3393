package simtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/snowflake"
)

// No member reports an existing layout or sequence as unknown, even if its replica lacks it.
func TestAbsenceIsNeverGuessed(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, (*world).absences)
}

// absences requests layouts and sequences from members that lack them.
func (w *world) absences() {
	w.Helper()
	w.Log("a member without replication")
	behind := w.follower()
	w.net.part([]*node{behind}, w.others(behind), raftPlane)
	w.create("a")
	if _, absent := w.look(behind, "none"); !absent {
		w.audit.fault("%s can reach the leader, and did not report \"none\" as unknown", behind.name)
	}
	if here, _ := w.look(behind, "a"); here {
		w.audit.fault("%s found \"a\", which its replica lacks", behind.name)
	}
	w.pass(time.Second) // longer than a follower waits for its leader
	if _, absent := w.look(behind, "none"); absent {
		w.audit.fault("%s reported \"none\" as unknown without a leader", behind.name)
	}
	w.net.heal()
	w.untilKnown(behind, "a")

	w.Log("a restarted member")
	behind.crash()
	w.net.part([]*node{behind}, w.others(behind))
	behind.start()
	w.look(behind, "a")
	w.pass(time.Second)
	w.look(behind, "a")
	w.net.heal()
	w.untilKnown(behind, "a")

	w.Log("a new member")
	nodes := w.live()
	added := w.addNode(0)
	w.net.part([]*node{added}, nodes)
	added.start()
	w.pass(time.Second)
	w.look(added, "a")
	w.net.heal()
	w.untilKnown(added, "a")

	w.Log("a replaced leader")
	stale := w.leader()
	w.net.part([]*node{stale}, w.others(stale), raftPlane, gossipPlane)
	w.until(recovery, "there is another leader", func() bool { return w.leaderNow() != stale && w.leaderNow() != nil })
	w.create("b")
	for range 10 {
		w.look(stale, "b")
		w.pass(100 * time.Millisecond)
	}
	w.net.heal()
	w.untilKnown(stale, "b")
}

func (w *world) create(name string) {
	w.Helper()
	w.until(recovery, name+" is created", func() bool {
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := w.leader().proc().member.CreateSequence(ctx, plain(name, strict), member.Force{})
		if err != nil {
			return false
		}
		spec := snowflake.Default().Spec()
		spec.Name = name
		_, err = w.leader().proc().member.CreateLayout(ctx, spec)
		return err == nil
	})
}

// look requests a strict sequence, in all ways, and a layout from a member. Only the name "none" may be unknown to the member.
func (w *world) look(n *node, name string) (here, absent bool) {
	w.Helper()
	m := n.proc().member
	for what, ask := range map[string]func(context.Context) error{
		"Sequence":       func(ctx context.Context) error { _, err := m.Sequence(ctx, name); return err },
		"Counter":        func(ctx context.Context) error { _, err := m.Counter(ctx, name); return err },
		"NextAtLeader":   func(ctx context.Context) error { _, err := m.NextAtLeader(ctx, name, 1, ""); return err },
		"LastAtLeader":   func(ctx context.Context) error { _, _, err := m.LastAtLeader(ctx, name); return err },
		"Layout":         func(ctx context.Context) error { _, err := m.Layout(ctx, name); return err },
		"Issuer":         func(ctx context.Context) error { _, err := m.Issuer(ctx, name); return err },
		"DeleteSequence": func(ctx context.Context) error { _, err := m.DeleteSequence(ctx, "none", nil); return err },
	} {
		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		err := ask(ctx)
		cancel()
		switch {
		case err == nil || errors.Is(err, member.ErrStrict):
			here = true
		case errors.Is(err, member.ErrNoLeader), errors.Is(err, cluster.ErrNotLeader):
		case !isAbsent(err):
			w.audit.fault("%s at %s: unexpected error: %v", what, n.name, err)
		case name == "none":
			absent = true
		case what != "DeleteSequence":
			w.audit.fault("%s at %s: %v", what, n.name, err)
		}
	}
	return here, absent
}

func isAbsent(err error) bool {
	_, layout := errors.AsType[*member.UnknownLayoutError](err)
	return layout || isUnknown(err)
}

func (w *world) untilKnown(n *node, name string) {
	w.Helper()
	w.until(recovery, n.name+" knows "+name, func() bool { here, _ := w.look(n, name); return here })
}
