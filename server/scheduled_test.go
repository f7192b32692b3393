package server_test

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/backup/archive"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/backups"
)

// The leader writes the backups, and the next leader continues. Each backup has what was acknowledged before.
func TestScheduledBackupsMoveWithTheLeader(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		place, err := archive.At(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		nodes := startCluster(t, 3, func(c *server.Config) {
			c.Backups = &backups.Schedule{Place: place, Every: time.Minute, Keep: 3}
		})
		latest := func() (*node, archive.Entry) {
			t.Helper()
			l := leader(t, nodes)
			all, err := place.List(t.Context(), l.server.ClusterID())
			if err != nil {
				t.Fatal(err)
			}
			if len(all) == 0 {
				return l, archive.Entry{}
			}
			last := all[0]
			for _, e := range all {
				if e.Compare(last.Name) > 0 {
					last = e
				}
			}
			return l, last
		}
		until(t, "there is a first backup", func() bool { _, e := latest(); return e.Bytes > 0 })
		for _, name := range []string{"orders", "invoices"} {
			l, before := latest()
			if _, err := l.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name}}); err != nil {
				t.Fatal(err)
			}
			until(t, "the next backup is there", func() bool { _, e := latest(); return e.Compare(before.Name) > 0 })
			l, e := latest()
			b, err := archive.Read(t.Context(), place, e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := b.State.Sequence(name); !ok || b.Header.GetMemberId() != l.server.MemberID() {
				t.Errorf("%v has sequence %q: %t; by member %s, want the leader %s", e, name, ok, b.Header.GetMemberId(), l.server.MemberID())
			}
			if name == "orders" {
				l.crash()
				nodes = except(nodes, l)
			}
		}
	})
}
