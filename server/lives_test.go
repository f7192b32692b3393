package server_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// govern lets the helpers of a member call as the holder of the secret.
func (s *secured) govern(n *node) *node {
	_ = n.conn.Close()
	n.conn = s.admin(n)
	n.ids, n.cluster, n.sequences = snowraftv1.NewIdServiceClient(n.conn), snowraftv1.NewClusterServiceClient(n.conn), snowraftv1.NewSequenceServiceClient(n.conn)
	return n
}

// startShort starts a secured cluster with short windows, so that a restored cluster is fenced for seconds only.
func startShort(t *testing.T, size int) *secured {
	t.Helper()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{t: t, keys: keys, log: &lockedBuilder{}}
	s.nodes = startCluster(t, size, short, func(c *server.Config) { c.Keys = keys })
	for _, n := range s.nodes {
		s.govern(n)
	}
	return s
}

// restored restores a backup of old, and starts the first member, with the same secret and no join list.
func (s *secured) restored(name string, old *node, change ...func(*server.Config)) *node {
	s.t.Helper()
	b, err := old.backup(false)
	if err != nil {
		s.t.Fatal(err)
	}
	n := newNode(s.t, name, append(change, func(c *server.Config) { c.Keys = s.keys })...)
	n.cfg.DataDir = filepath.Join(s.t.TempDir(), name)
	now := time.Now().UnixMilli()
	if _, err := (backup.Restore{NowMillis: now, OldEndedMillis: now}).Into(n.cfg.DataDir, b); err != nil {
		s.t.Fatal(err)
	}
	return s.govern(n.start())
}

func supersede(t *testing.T, n *node, id string) *snowraftv1.Restoration {
	t.Helper()
	resp, err := snowraftv1.NewOperationsServiceClient(n.conn).Supersede(t.Context(), &snowraftv1.SupersedeRequest{ClusterId: id})
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetRestoration()
}

func issues(n *node) bool { _, err := n.generate(1, 0); return err == nil }

func stoppedByLife(n *node) bool {
	_, err := n.generate(1, 0)
	return reason(err) == rpc.OldClusterAlive
}

// halts waits until a member halts for good, and checks that it does not start again.
func halts(t *testing.T, n *node) {
	t.Helper()
	select {
	case <-n.server.Done():
	case <-time.After(patience):
		t.Fatalf("%s still runs", n.cfg.Name)
	}
	if err := n.server.Err(); !errors.Is(err, cluster.ErrSuperseded) {
		t.Errorf("%s halts with %v", n.cfg.Name, err)
	}
	n.stop()
	if again, err := server.Open(t.Context(), n.cfg); !errors.Is(err, cluster.ErrSuperseded) {
		t.Errorf("%s starts again: %v", n.cfg.Name, err)
		if err == nil {
			_ = again.Close(t.Context())
		}
	}
}

// A drill restores a backup of a running cluster, with its secret. The drill finds that cluster at the addresses of the backup,
// and issues nothing. The cluster issues on, and says that the drill runs. On the operator's word, and only then, it halts.
func TestRestoreDrillHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startShort(t, 3)
		production, old := s.nodes[0], s.nodes[0].status().GetClusterId()
		drill := s.restored("drill", production)
		until(t, "the drill leads", drill.leads)
		until(t, "the drill hears the cluster", func() bool { return stoppedByLife(drill) })
		for range 60 {
			if !issues(production) || !stoppedByLife(drill) {
				t.Fatal("the drill issues, or the cluster does not")
			}
			<-time.After(time.Second)
		}
		if got := production.status().GetYoungerClusterAlive(); got == "" {
			t.Error("the cluster does not say that the drill runs")
		}
		if r := drill.status().GetRestoration(); r.GetOldClusterId() != old || r.GetOldClusterIsSibling() || r.GetOldClusterAlive() == "" {
			t.Errorf("the drill says %v", r)
		}

		if r := supersede(t, drill, old); len(r.GetSuperseded()) != 1 || r.GetSuperseded()[0] != old {
			t.Errorf("the answer is %v", r)
		}
		for _, n := range s.nodes {
			halts(t, n)
		}
		until(t, "the new cluster issues", func() bool { return issues(drill) })
	})
}

// Two clusters from one backup stop each other, until an operator ends one of them.
func TestSiblingsStopUntilOneEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startShort(t, 1)
		old := s.nodes[0]
		other, address := s.restored("other", old), old.server.RaftAddr()
		one := s.restored("one", old)
		old.stop()
		until(t, "the first one issues", func() bool { return issues(other) })
		one.stop()
		one.cfg.RaftAddr = address // the first one looks for the old cluster there
		s.govern(one.start())
		id := func(n *node) string { return n.status().GetClusterId() }
		until(t, "both stop", func() bool { return stoppedByLife(one) && stoppedByLife(other) })
		<-time.After(2 * time.Minute) // no window is fenced
		if !stoppedByLife(one) || !stoppedByLife(other) {
			t.Error("one issues while the other runs")
		}
		for _, n := range []*node{one, other} {
			if r := n.status().GetRestoration(); !r.GetOldClusterIsSibling() || r.GetOldClusterId() == id(n) {
				t.Errorf("%s says %v", n.cfg.Name, r)
			}
		}
		supersede(t, other, id(one))
		halts(t, one)
		until(t, "the other cluster issues", func() bool { return issues(other) })
	})
}

// A cluster cannot supersede itself, and only a restored cluster supersedes another.
func TestSupersedeIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startShort(t, 1)
		old := s.nodes[0]
		n := s.restored("restored", old)
		until(t, "the member leads", n.leads)
		for to, id := range map[*node]string{old: n.status().GetClusterId(), n: n.status().GetClusterId()} {
			_, err := snowraftv1.NewOperationsServiceClient(to.conn).Supersede(t.Context(), &snowraftv1.SupersedeRequest{ClusterId: id})
			if got := reason(err); got != rpc.InvalidArgument && got != rpc.UpgradeBlocked {
				t.Errorf("Supersede() at %s = %v", to.cfg.Name, err)
			}
		}
		_, err := snowraftv1.NewOperationsServiceClient(n.conn).Supersede(t.Context(), &snowraftv1.SupersedeRequest{ClusterId: "x"})
		wantReason(t, "no ID", err, rpc.InvalidArgument)

		old.stop()
		younger := s.restored("younger", n)
		until(t, "the younger cluster leads", younger.leads)
		until(t, "the younger cluster is heard", func() bool { return n.status().GetYoungerClusterAlive() != "" })
		_, err = snowraftv1.NewOperationsServiceClient(n.conn).Supersede(t.Context(), &snowraftv1.SupersedeRequest{ClusterId: younger.status().GetClusterId()})
		wantReason(t, "a younger cluster", err, rpc.InvalidArgument)
		if got := n.status().GetRestoration().GetSuperseded(); len(got) != 0 {
			t.Errorf("superseded %v", got)
		}
	})
}
