package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// replicated is the part of the state that no call of an application returns.
type replicated struct {
	Tokens    []*fsm.TokenRecord
	Anonymous *fsm.TokenRecord
	Workers   map[string][]fsm.WorkerRecord // records by layout, without the default layout, whose lanes continue
	Removed   []string
}

// replicatedBy reads the state of a member; removed are the IDs that may have been removed from its cluster.
func replicatedBy(n *node, removed []string) (r replicated) {
	n.server.Member().State().View(func(s *fsm.State) { r = replicatedIn(s, removed) })
	return r
}

// replicatedIn returns the replicated part of a state.
func replicatedIn(s *fsm.State, removed []string) (r replicated) {
	r.Workers = make(map[string][]fsm.WorkerRecord)
	r.Tokens = s.Tokens(0, 100)
	r.Anonymous, _ = s.Token(0)
	for _, l := range s.Layouts() {
		if name := l.Layout.Name(); name != "default" {
			r.Workers[name] = slices.DeleteFunc(s.Workers(name, 0, 100), func(w fsm.WorkerRecord) bool { return w.Owner == 0 && !w.Released })
		}
	}
	r.Removed = slices.DeleteFunc(slices.Clone(removed), func(id string) bool { return !s.Removed(id) })
	return r
}

// same fails the test if now differs from r, which a member of another version left.
func (r replicated) same(t *testing.T, now replicated) {
	t.Helper()
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the state holds %s, want %s", got, want)
	}
}

// rule makes each call of an operator once at a member. The names in the calls end in tag. It returns the ID of a removed member.
func rule(n *node, layout, tag string) (removed string) {
	t, m, ctx := n.t, n.server.Member(), n.t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	removed = "removed-" + tag
	for _, cmd := range []*commandv1.Command{
		{Body: &commandv1.Command_RemoveMember{RemoveMember: &commandv1.RemoveMember{Id: removed}}},
		{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: fsm.Version}}},
	} {
		cmd.Version, cmd.ClockAtMs = fsm.MinVersion(cmd), time.Now().UnixMilli()
		data, err := fsm.Encode(cmd)
		must(err)
		must(second(m.Node().Propose(ctx, data)))
	}
	create := func(name string) *fsm.TokenRecord {
		made, err := m.CreateToken(ctx, member.TokenSpec{
			Name: name + "-" + tag, Hash: sha256.Sum256([]byte(name + tag)), Scopes: []string{"worker:lease:*", "seq:next:orders/*"},
			ExpiresAtMillis: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Rate: 100, Burst: 1000,
		})
		must(err)
		return made.Token
	}
	app, gone := create("app"), create("gone")
	narrow := func(r *fsm.TokenRecord) error {
		r.Scopes = []string{"worker:lease:*"}
		return nil
	}
	must(second(m.UpdateToken(ctx, app.ID, nil, narrow)))
	must(second(m.UpdateToken(ctx, 0, nil, func(r *fsm.TokenRecord) error {
		r.Scopes = append(r.Scopes, "cluster:read:"+tag)
		return nil
	})))
	by := member.WithActor(ctx, member.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: app.ID, JudgedAt: m.State().Applied()})
	must(second(m.AcquireWorker(by, allocator.AcquireRequest{
		Layout: layout, Holder: "lane/0", Nonce: allocator.Nonce{9}, NowMillis: m.Clock().Now().Wall, Window: time.Second,
	})))
	must(second(m.DeleteToken(ctx, gone.ID, nil)))
	must(second(n.cluster.ResetObservedClock(ctx, &snowraftv1.ResetObservedClockRequest{})))
	return removed
}
