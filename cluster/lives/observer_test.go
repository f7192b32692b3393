package lives

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
)

// meeting is a Dialer whose nodes give a fixed answer.
type meeting struct {
	answer   atomic.Pointer[error]
	relation Relation
	met      atomic.Int64
}

func (m *meeting) with(err error) { m.answer.Store(&err) }

func (m *meeting) MeetLife(context.Context, string, string) (Relation, error) {
	m.met.Add(1)
	return m.relation, *m.answer.Load()
}

// observing returns the observer of a node at h:1, and its dialer, which reaches no node.
func observing(t *testing.T, known Lives) (*Observer, *meeting) {
	t.Helper()
	own, dialed := node(), new(meeting)
	own.Raft = "h:1"
	dialed.with(errors.New("connection refused"))
	return NewObserver(func() peer.Meta { return own }, func() Lives { return known }, clock.NewWatch(clock.System(), nil, clock.Limits{})), dialed
}

// node returns the metadata of a node in a cluster of its own.
func node() peer.Meta {
	return peer.Meta{ID: uuid.NewString(), Name: "a", Cluster: uuid.NewString(), Process: peer.NewProcess(), Raft: uuid.NewString() + ":1"}
}

// A node of this cluster that was claimed to be of another is not dialed again for some time, and there is a bound on the claims.
func TestClaimsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, dialed := observing(t, Lives{})
		dialed.relation = Same
		dialed.with(nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go o.Run(ctx, dialed, func() {})
		claimed := node()
		for range 4 {
			o.ClaimNode(claimed)
			<-time.After(interval)
		}
		if met := dialed.met.Load(); met != 1 {
			t.Errorf("dialed %d times, want once", met)
		}
		for range 2 * maxClaims {
			o.ClaimNode(node())
		}
		if kept := len(o.claims); kept > maxClaims {
			t.Errorf("%d claims are kept", kept)
		}
	})
}

// The members of the backup are looked for: often while windows are fenced, and seldom later. An older program refuses this
// node because their clusters differ, which shows that it runs.
func TestOldMembersAreSought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const fenced = 5 * time.Minute
		old := OldMember{ID: uuid.NewString(), Name: "old", RaftAddress: "old:1"}
		o, dialed := observing(t, Lives{
			Ancestors: []string{uuid.NewString()}, OldMembers: []OldMember{old, {ID: uuid.NewString(), RaftAddress: "h:1"}}, // h:1 is this node's
			FencedMs: time.Now().Add(fenced).UnixMilli(),
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go o.Run(ctx, dialed, func() {})
		<-time.After(fenced)
		often := dialed.met.Swap(0)
		<-time.After(fenced)
		if seldom := dialed.met.Load(); often < 55 || often > 65 || seldom < 4 || seldom > 6 {
			t.Errorf("dialed %d times while windows are fenced, %d times later", often, seldom)
		}
		if heard := o.Old(); heard.Member != "" {
			t.Errorf("Old() = %+v", heard)
		}
		dialed.with(peer.ErrOtherCluster)
		<-time.After(time.Minute + interval)
		if heard := o.Old(); heard.Relation != Older || !strings.Contains(heard.Member, "old at old:1") {
			t.Errorf("Old() = %+v", heard)
		}
		for range 2 * time.Minute / interval {
			if <-time.After(interval); o.Old().Member == "" {
				t.Fatal("an old member that answers is dialed seldom")
			}
		}
		dialed.with(errors.New("connection refused"))
		<-time.After(time.Minute)
		o.HearID(uuid.NewString(), "192.0.2.1")
		if heard := o.Old(); heard.Member != "" {
			t.Errorf("a stranger is heard: %+v", heard)
		}
		o.HearID(old.ID, "192.0.2.1") // proved by its certificate
		if heard := o.Old(); heard.Relation != Older || !strings.Contains(heard.Member, "old at 192.0.2.1") {
			t.Errorf("Old() = %+v", heard)
		}
	})
}
