package member

import (
	"context"
	"errors"
	"slices"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/trust"
)

func TestTokensOfAMember(t *testing.T) {
	m := openOne(t)
	ctx := t.Context()
	made, err := m.CreateToken(ctx, TokenSpec{Name: "billing", Hash: [32]byte{1}, Scopes: []string{"seq:next:s", "seq:read:s"}, Rate: 5, Burst: 6})
	if err != nil || made.Token.ID != made.Index {
		t.Fatalf("created: %+v, %v", made, err)
	}
	id := made.Token.ID
	if r, ok := m.State().Token(id); !ok || r.Name != "billing" || r.Hash != [32]byte{1} || r.Rate != 5 || r.Burst != 6 {
		t.Errorf("the replica has %+v, %v", r, ok)
	}
	for _, name := range []string{"cafe\u0301", "a/b", "anonymous"} {
		if _, err := m.CreateToken(ctx, TokenSpec{Name: name}); !refusedFor(err, commandv1.Refusal_REFUSAL_INVALID_ARGUMENT) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	narrow := func(r *fsm.TokenRecord) error {
		r.Scopes = slices.DeleteFunc(r.Scopes, func(s string) bool { return s == "seq:read:s" })
		return nil
	}
	if _, err := m.UpdateToken(ctx, id, new(id+1), narrow); !isGeneration(err) {
		t.Errorf("another generation: %v", err)
	}
	less, err := m.UpdateToken(ctx, id, new(id), narrow)
	if err != nil || !slices.Equal(less.Token.Scopes, []string{"seq:next:s"}) || less.Token.Rate != 5 || less.Token.Generation != less.Index {
		t.Errorf("updated: %+v, %v", less, err)
	}
	if !slices.Equal(made.Token.Scopes, []string{"seq:next:s", "seq:read:s"}) {
		t.Errorf("the edit changed the old record: %v", made.Token.Scopes)
	}
	if r, err := m.TokenNamedAtLeader(ctx, "billing"); err != nil || r.ID != id {
		t.Errorf("by name: %+v, %v", r, err)
	}
	if _, err := m.UpdateToken(ctx, 0, nil, narrow); err != nil {
		t.Errorf("anonymous callers: %v", err)
	}
	if _, err := m.DeleteToken(ctx, id, new(id)); !isGeneration(err) {
		t.Errorf("deleted at another generation: %v", err)
	}
	if _, err := m.propose(ctx, m.clock.Now().Wall, revocation(id, new(id))); !refusedFor(err, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH) {
		t.Errorf("deleted although a change came first: %v", err)
	}
	if index, err := m.DeleteToken(ctx, id, nil); err != nil || index <= less.Index {
		t.Errorf("deleted at %d: %v", index, err)
	}
	if _, err := m.TokenAtLeader(ctx, id); !refusedFor(err, commandv1.Refusal_REFUSAL_UNKNOWN_TOKEN) {
		t.Errorf("deleted: %v", err)
	}
}

func isGeneration(err error) bool {
	_, ok := errors.AsType[*GenerationError](err)
	return ok
}

// A call is refused once its caller's token is deleted, although the token allowed the call when it began.
func TestRevokedCallersProposeInVain(t *testing.T) {
	m := openOne(t)
	made, err := m.CreateToken(t.Context(), TokenSpec{Name: "app", Scopes: []string{"seq:next:*"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := WithActor(t.Context(), Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: made.Token.ID, JudgedAt: m.State().Applied()})
	createStrict(t, m, "s")
	if _, err := m.NextAtLeader(ctx, "s", 1, "before"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.DeleteToken(t.Context(), made.Token.ID, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := m.NextAtLeader(ctx, "s", 1, "after"); !refusedFor(err, commandv1.Refusal_REFUSAL_UNAUTHENTICATED) {
		t.Errorf("after the revocation: %+v, %v", n, err)
	}
}

// Commands of members about windows and blocks have no actor, which would only make the log longer.
func TestActorsOfCommands(t *testing.T) {
	block := &commandv1.Command{Body: &commandv1.Command_AllocateBlock{}}
	creation := &commandv1.Command{Body: &commandv1.Command_CreateSequence{}}
	for _, c := range []struct {
		kind commandv1.ActorKind
		cmd  *commandv1.Command
		want bool
	}{
		{commandv1.ActorKind_ACTOR_KIND_MEMBER, block, false},
		{commandv1.ActorKind_ACTOR_KIND_OPEN, block, true},
		{commandv1.ActorKind_ACTOR_KIND_TOKEN, block, true},
		{commandv1.ActorKind_ACTOR_KIND_ADMIN, block, true},
		{commandv1.ActorKind_ACTOR_KIND_ANONYMOUS, block, true},
		{commandv1.ActorKind_ACTOR_KIND_MEMBER, creation, true},
		{commandv1.ActorKind_ACTOR_KIND_OPEN, creation, true},
	} {
		a, err := actorOf(WithActor(t.Context(), Actor{Kind: c.kind, Name: "node-1"}), c.cmd)
		if err != nil || (a != nil) != c.want || a != nil && (a.GetKind() != c.kind || a.GetName() != "node-1") {
			t.Errorf("%v of %v: %v, %v, want %v", c.cmd, c.kind, a, err, c.want)
		}
	}
	claimed := WithActor(t.Context(), Actor{Kind: commandv1.ActorKind_ACTOR_KIND_MEMBER, Name: "node-1", Claimed: true})
	if a, err := actorOf(claimed, creation); err != nil || a.GetKind() != commandv1.ActorKind_ACTOR_KIND_OPEN || a.GetName() != "" {
		t.Errorf("a creation of a claimed member: %v, %v, want an unknown caller", a, err)
	}
	if a, err := actorOf(claimed, block); a != nil || err != nil {
		t.Errorf("a block of a claimed member: %v, %v", a, err)
	}
	itself := trust.WithPrincipal(t.Context(), trust.Member("node-1"))
	for _, ctx := range []context.Context{t.Context(), itself} {
		if a, err := actorOf(ctx, creation); a != nil || err != nil {
			t.Errorf("this member itself: %v, %v", a, err)
		}
	}
	for _, p := range []*trust.Principal{trust.Open(), trust.Admin()} {
		if a, err := actorOf(trust.WithPrincipal(t.Context(), p), creation); !errors.Is(err, errNoActor) {
			t.Errorf("%s, without an actor: %v, %v", p.Actor(), a, err)
		}
	}
}
