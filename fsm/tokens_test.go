package fsm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestTokens(t *testing.T) {
	l := newLog(t)
	if r, ok := l.Token(0); !ok || r.Name != "anonymous" || !slices.Equal(r.Scopes, []string{"metrics:read"}) || r.Generation != 0 {
		t.Errorf("anonymous callers of a new cluster: %+v, %v", r, ok)
	}
	first := l.token("billing", "seq:next:orders/*")
	second := l.token("console", "cluster:read")
	if again := l.must(createToken("billing", "seq:next:orders/*")).Token; again.ID != first || again.Generation != first {
		t.Errorf("the creation repeated: %+v", again)
	}
	other := createToken("billing")
	other.GetCreateToken().Hash[0]++
	l.refused(tokenExistsReason, other)
	l.refused(mismatchedGen, updateToken(first, second))
	l.refused(unknownTokenReason, updateToken(99, 99))
	l.refused(unknownTokenReason, deleteToken(99))
	l.refused(unknownTokenReason, deleteToken(0))
	cmd := updateToken(first, first, "ids:issue:*")
	cmd.GetUpdateToken().ExpiresAtMs, cmd.GetUpdateToken().Rate, cmd.GetUpdateToken().Burst = 5, 6, 7
	before, _ := l.Token(first)
	updated := l.must(cmd).Token
	if updated.ID != first || updated.Name != "billing" || updated.Hash != before.Hash || updated.Generation != l.index ||
		updated.ExpiresAtMillis != 5 || updated.Rate != 6 || updated.Burst != 7 || !slices.Equal(updated.Scopes, []string{"ids:issue:*"}) {
		t.Errorf("updated: %+v", updated)
	}
	if before.Generation != first || !slices.Equal(before.Scopes, []string{"seq:next:orders/*"}) {
		t.Errorf("the record that a reader holds changed: %+v", before)
	}
	if r, ok := l.TokenNamed("console"); !ok || r.ID != second {
		t.Errorf("console: %+v, %v", r, ok)
	}
	third := l.token("third")
	for after, want := range map[uint64][]uint64{0: {first, second, third}, first: {second, third}, first - 1: {first, second, third}, third: nil, 1 << 60: nil} {
		var got []uint64
		for _, r := range l.Tokens(after, 10) {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("tokens after %d: %v, want %v", after, got, want)
		}
	}
	if page := l.Tokens(first, 1); len(page) != 1 || page[0].ID != second {
		t.Errorf("a page of one: %+v", page)
	}
	stale := deleteToken(first)
	stale.GetDeleteToken().Generation = first
	l.refused(mismatchedGen, stale)
	present := deleteToken(second)
	present.GetDeleteToken().Generation = second
	l.must(present)
	if r, ok := l.Token(second); ok {
		t.Errorf("deleted: %+v", r)
	}
	if again := l.token("console"); again == second {
		t.Error("the name resolved to the deleted token")
	}
}

func TestTokensHaveBounds(t *testing.T) {
	l := newLog(t)
	id := l.token("t")
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, name := range []string{"$", "a/b", "a b", "anonymous", strings.Repeat("x", 129), "\xff"} {
		l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, createToken(name))
	}
	short := createToken("short")
	short.GetCreateToken().Hash = short.GetCreateToken().GetHash()[1:]
	l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, short)
	for name, edit := range map[string]func(*commandv1.UpdateToken){
		"many scopes":     func(u *commandv1.UpdateToken) { u.Scopes = many },
		"a scope twice":   func(u *commandv1.UpdateToken) { u.Scopes = []string{"a", "b", "a"} },
		"an empty scope":  func(u *commandv1.UpdateToken) { u.Scopes = []string{""} },
		"a long scope":    func(u *commandv1.UpdateToken) { u.Scopes = []string{strings.Repeat("x", 257)} },
		"a control":       func(u *commandv1.UpdateToken) { u.Scopes = []string{"a\nb"} },
		"before 1970":     func(u *commandv1.UpdateToken) { u.ExpiresAtMs = -1 },
		"no burst":        func(u *commandv1.UpdateToken) { u.Rate = 1 },
		"no rate":         func(u *commandv1.UpdateToken) { u.Burst = 1 },
		"a rate too high": func(u *commandv1.UpdateToken) { u.Rate, u.Burst = math.MaxUint64, 1 },
	} {
		cmd := updateToken(id, id)
		edit(cmd.GetUpdateToken())
		if r := l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, cmd); r == nil {
			t.Error(name)
		}
		c := cmd.GetUpdateToken()
		made := createToken("made")
		made.GetCreateToken().Scopes, made.GetCreateToken().ExpiresAtMs = c.GetScopes(), c.GetExpiresAtMs()
		made.GetCreateToken().Rate, made.GetCreateToken().Burst = c.GetRate(), c.GetBurst()
		l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, made)
	}
	expiring := updateToken(0, 0)
	expiring.GetUpdateToken().ExpiresAtMs = 1
	l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, expiring)
	l.maxTokens = 2
	l.token("second")
	l.refused(limitReached, createToken("third"))
	l.must(deleteToken(id))
	l.token("third")
}

// TestRevokedActorsChangeNothing: a command that a caller was allowed to propose has no effect once the caller lost
// the token, or a scope of it.
func TestRevokedActorsChangeNothing(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	generation := l.seq("s").Generation
	wish := func(token, judged uint64) *commandv1.Command {
		return by(token, judged, allocate("s", generation, 1, 0))
	}
	id := l.token("t", "seq:next:s", "seq:read:s")
	l.must(wish(id, l.index))
	l.refused(unauthenticatedReason, wish(id, id-1)) // before the token was created
	l.refused(unauthenticatedReason, wish(id, 0))
	l.refused(unauthenticatedReason, wish(99, l.index))

	// A change that removes no scope is not a revocation.
	judged := l.index
	more := l.must(updateToken(id, id, "seq:read:s", "seq:next:s", "seq:admin:s")).Token
	l.must(wish(id, judged))
	less := l.must(updateToken(id, more.Generation, "seq:next:s")).Token
	l.refused(unauthenticatedReason, wish(id, judged))
	l.must(wish(id, l.index))

	expiring := updateToken(id, less.Generation, "seq:next:s")
	expiring.GetUpdateToken().ExpiresAtMs = epoch + 1000
	l.must(expiring)
	l.must(at(epoch+999, observe(false)))
	l.must(at(epoch+5000, wish(id, l.index))) // only the observed clock counts
	l.must(at(epoch+1000, observe(false)))
	l.refused(unauthenticatedReason, at(epoch, wish(id, l.index)))

	gone := l.token("gone", "seq:next:s")
	judged = l.index
	l.must(deleteToken(gone))
	l.refused(unauthenticatedReason, wish(gone, judged))
	l.token("gone", "seq:next:s")
	l.refused(unauthenticatedReason, wish(gone, l.index))

	l.must(wish(0, 0))
	l.must(updateToken(0, 0))
	l.refused(unauthenticatedReason, wish(0, 0))
	l.must(wish(0, l.index))

	confused := wish(0, l.index)
	confused.Actor.Token = id
	l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, confused)
	confused = wish(id, l.index)
	confused.Actor.Token = 0
	l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, confused)
	for _, kind := range []commandv1.ActorKind{
		commandv1.ActorKind_ACTOR_KIND_UNSPECIFIED, commandv1.ActorKind_ACTOR_KIND_MEMBER, commandv1.ActorKind_ACTOR_KIND_ADMIN, commandv1.ActorKind_ACTOR_KIND_OPEN,
	} {
		cmd := allocate("s", generation, 1, 0)
		cmd.Actor = &commandv1.Actor{Kind: kind, Name: "node-1"}
		l.must(cmd)
	}
}

// TestMachineTokens: readers take no lock, and know by the revision when to read again.
func TestMachineTokens(t *testing.T) {
	m := New(Options{})
	for i, step := range []struct {
		cmd     *commandv1.Command
		changes bool
	}{
		{createToken("t", "a"), true},
		{createToken("t", "a"), false},
		{updateToken(2, 2, "b"), true},
		{updateToken(0, 0, "b"), true},
		{create(plain("s"), 0), false},
		{createToken("gone"), true},
		{deleteToken(7), true},
		{deleteToken(7), false},
	} {
		before := m.TokenRevision()
		m.Apply(entryAt(t, uint64(i+2), at(epoch, step.cmd)))
		if grew := m.TokenRevision() > before; grew != step.changes {
			t.Errorf("%v: the revision grew: %v, want %v", step.cmd, grew, step.changes)
		}
	}
	if r, ok := m.Token(2); !ok || !slices.Equal(r.Scopes, []string{"b"}) {
		t.Errorf("token 2: %+v, %v", r, ok)
	}
	if r := m.Anonymous(); !slices.Equal(r.Scopes, []string{"b"}) {
		t.Errorf("anonymous: %+v", r)
	}
	for _, id := range []uint64{0, 1, 7} {
		if r, ok := m.Token(id); ok {
			t.Errorf("token %d: %+v", id, r)
		}
	}
	before := m.TokenRevision()
	if err := m.Restore(readerOf(snapshotBytes(t, m.state))); err != nil || m.TokenRevision() <= before {
		t.Errorf("restored: %v, revision %d after %d", err, m.TokenRevision(), before)
	}
	if r, ok := m.Token(2); !ok || r.Name != "t" {
		t.Errorf("token 2 after the restore: %+v, %v", r, ok)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := testing.AllocsPerRun(100, func() { m.Token(2); m.Anonymous() }); n > 0 {
		t.Errorf("a look takes %v allocations", n)
	}
}

// TestTokensBeforeTheirRevision: a reader that knows a revision of the tokens gets the tokens of that revision, or later ones.
func TestTokensBeforeTheirRevision(t *testing.T) {
	m := New(Options{})
	m.Apply(entryAt(t, 1, at(epoch, createToken("t", "a"))))
	first := m.TokenRevision()
	ended := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			revision := m.TokenRevision()
			if r, _ := m.Token(1); r.Generation < 1+revision-first {
				t.Errorf("generation %d with the revision of generation %d", r.Generation, 1+revision-first)
				return
			}
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	for i := range uint64(20_000) {
		m.Apply(entryAt(t, i+2, at(epoch, updateToken(1, i+1, "a"))))
	}
	close(ended)
	reader.Wait()
}

// TestActorsTakeNoMemory: the check of an actor is on the path of every block.
func TestActorsTakeNoMemory(t *testing.T) {
	l := newLog(t)
	id := l.token("t")
	a := by(id, l.index, observe(false)).GetActor()
	if n := testing.AllocsPerRun(100, func() {
		if l.checkActor(a) != nil {
			t.Error("refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if size := proto.Size(&commandv1.Command{Actor: a}); size > 16 {
		t.Errorf("an actor takes %d bytes", size)
	}
}
