package trust

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newToken returns a new token and its record.
func newToken(id uint64, scopes ...Scope) (Token, *Record) {
	token := Token{ID: id, Secret: NewTokenSecret()}
	return token, &Record{ID: id, Name: "billing", Hash: HashTokenSecret(token.Secret), Scopes: scopes}
}

// unauthenticated reports whether an error is that of a caller without a valid token, and contains an action.
func unauthenticated(err error) bool {
	denied, ok := errors.AsType[*Denied](err)
	return ok && denied.Unauthenticated && (strings.Contains(err.Error(), "; ") || strings.Contains(err.Error(), "expected "))
}

func TestAuthenticateJudgesTokens(t *testing.T) {
	t.Parallel()
	token, record := newToken(17, "seq:next:orders/*", RightReadCluster)
	a := NewAuthorizer(newTable(record))
	stranger, _ := newToken(17)
	pinned := token
	pinned.Pin = strings.Repeat("a", 51) + "a"
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"right":          {token.Text(), "token 17 (billing)"},
		"again":          {token.Text(), "token 17 (billing)"},
		"with a pin":     {pinned.Text(), "token 17 (billing)"},
		"none":           {"", "anonymous"},
		"another secret": {stranger.Text(), ""},
		"cut off":        {token.Text()[:40], ""},
		"no token":       {"hunter2", ""},
		"prefix only":    {"snowraft_17_", ""},
		"its pin only":   {"snowraft_17__" + pinned.Pin, ""},
	} {
		p, err := a.Authenticate(t.Context(), c.text)
		if err == nil && p.Actor() != c.want || (err == nil) != (c.want != "") || err != nil && !unauthenticated(err) {
			t.Errorf("%s: Authenticate() = %v, %v, want %q", name, p.Actor(), err, c.want)
		}
		if err != nil && c.text != "" && strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
	// A wrong secret is refused even after the right one was presented.
	if _, err := a.Authenticate(t.Context(), stranger.Text()); !unauthenticated(err) {
		t.Errorf("Authenticate() of another secret = %v", err)
	}
}

// A change while the record of a caller is read is seen by the next call.
func TestAuthorizeFollowsAChangeDuringTheRead(t *testing.T) {
	t.Parallel()
	token, record := newToken(17, RightReadCluster)
	for text, narrow := range map[string]func(*table){
		token.Text(): func(tab *table) { tab.put(&Record{ID: 17, Name: record.Name, Hash: record.Hash}) },
		"":           func(tab *table) { tab.change(func() { tab.anonymous = &Record{} }) },
	} {
		tab := newTable(record)
		tab.anonymous = &Record{Scopes: record.Scopes}
		p, err := NewAuthorizer(tab).Authenticate(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		tab.change(func() {}) // the next call reads the record again
		tab.read = func() { narrow(tab) }
		_ = p.Authorize(RightReadCluster, "")
		if err := p.Authorize(RightReadCluster, ""); err == nil {
			t.Errorf("%q: Authorize() = nil after its scope was removed", text)
		}
	}
}

func TestAuthorizeFollowsTheTable(t *testing.T) {
	t.Parallel()
	token, record := newToken(17, "seq:next:orders/*")
	tab := newTable(record)
	a := NewAuthorizer(tab)
	p, err := a.Authenticate(t.Context(), token.Text())
	if err != nil {
		t.Fatal(err)
	}
	check := func(when, resource string, allowed, known bool) {
		t.Helper()
		err := p.Authorize(RightNextNumbers, resource)
		if (err == nil) != allowed || err != nil && unauthenticated(err) == known {
			t.Errorf("%s: Authorize(%s) = %v", when, resource, err)
		}
	}
	check("at first", "orders/eu", true, true)
	check("at first", "invoices", false, true)
	if err := p.Authorize(RightNextNumbers, "invoices"); !strings.Contains(err.Error(), "seq:next:invoices") {
		t.Errorf("Authorize() = %q, want the scope that would do", err)
	}
	changed := *record
	changed.Scopes = []Scope{"seq:next:invoices"}
	tab.put(&changed)
	check("changed", "invoices", true, true)
	check("changed", "orders/eu", false, true)

	changed.ExpiresAtMillis = 1000
	tab.put(&changed)
	check("before its end", "invoices", true, true)
	tab.now.Store(1000)
	check("at its end", "invoices", false, false)
	if _, err := a.Authenticate(t.Context(), token.Text()); !unauthenticated(err) {
		t.Errorf("Authenticate() of an expired token = %v", err)
	}
	tab.now.Store(0)
	tab.delete(17)
	check("deleted", "invoices", false, false)
	if err := p.Spend(1); !unauthenticated(err) {
		t.Errorf("Spend() of a deleted token = %v", err)
	}
	for name, authenticate := range map[string]func() (*Principal, error){
		"Authenticate": func() (*Principal, error) { return a.Authenticate(t.Context(), token.Text()) },
		"Forwarded":    func() (*Principal, error) { return a.Forwarded(t.Context(), "17") },
	} {
		if _, err := authenticate(); !unauthenticated(err) {
			t.Errorf("%s of a deleted token = %v", name, err)
		}
	}
}

// A member that has not caught up since its start may not know that a caller has got a scope.
func TestReplicaThatIsBehindRefusesForTheMoment(t *testing.T) {
	t.Parallel()
	token := Token{ID: 7, Secret: NewTokenSecret()}
	expired := Token{ID: 8, Secret: NewTokenSecret()}
	table := newTable(
		&Record{ID: 7, Hash: HashTokenSecret(token.Secret), Scopes: []Scope{"cluster:read"}},
		&Record{ID: 8, Hash: HashTokenSecret(expired.Secret), ExpiresAtMillis: 1})
	table.now.Store(2)
	a := NewAuthorizer(table)
	refusals := func() (all []error) {
		p, err := a.Authenticate(t.Context(), token.Text())
		if err != nil {
			t.Fatal(err)
		}
		_, old := a.Authenticate(t.Context(), expired.Text())
		_, passed := a.Forwarded(t.Context(), "8")
		return []error{a.Anonymous().Authorize(RightNextNumbers, "orders"), p.Authorize(RightNextNumbers, "orders"), old, passed}
	}
	table.behind.Store(true)
	for i, err := range refusals() {
		if !errors.Is(err, ErrBehind) {
			t.Errorf("behind: refusal %d is %v", i, err)
		}
	}
	table.behind.Store(false)
	for i, err := range refusals() {
		if _, ok := errors.AsType[*Denied](err); !ok {
			t.Errorf("caught up: refusal %d is %v", i, err)
		}
	}
}

func TestEqualTokensAreOnePrincipal(t *testing.T) {
	t.Parallel()
	token, record := newToken(17)
	tab := newTable(record)
	a := NewAuthorizer(tab)
	first, _ := a.Authenticate(t.Context(), token.Text())
	tab.put(record)
	second, _ := a.Authenticate(t.Context(), token.Text())
	third, err := a.Forwarded(t.Context(), "17")
	if first == nil || first != second || second != third || err != nil {
		t.Errorf("principals %p, %p, %p, %v", first, second, third, err)
	}
}

func TestKindsOfPrincipals(t *testing.T) {
	t.Parallel()
	token, record := newToken(17, RightReadCluster)
	tab := newTable(record)
	a := NewAuthorizer(tab)
	p, err := a.Authenticate(t.Context(), token.Text())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		p                            *Principal
		any, member, cluster, metric bool
	}{
		{nil, false, false, false, false},
		{Open(), true, true, true, true},
		{Member("m1"), true, true, true, true},
		{Admin(), true, false, true, true},
		{a.Anonymous(), false, false, false, true},
		{p, true, false, true, false},
	} {
		for right, want := range map[string]bool{RightAny: c.any, RightMember: c.member, RightReadCluster: c.cluster, RightReadMetrics: c.metric} {
			err := c.p.Authorize(right, "")
			if (err == nil) != want {
				t.Errorf("%s: Authorize(%s) = %v", c.p.Actor(), right, err)
			}
			if err != nil && unauthenticated(err) != (c.p == nil || c.p.IsAnonymous()) {
				t.Errorf("%s: Authorize(%s) = %v", c.p.Actor(), right, err)
			}
		}
	}
}

func TestClaimedMemberIsNoActor(t *testing.T) {
	t.Parallel()
	p := ClaimedMember("m1")
	if !p.IsMember() || p.MemberID() != "m1" || p.Actor() != Open().Actor() || Member("m1").Actor() != "member m1" {
		t.Errorf("a claimed member is %s with the ID %s, a proven one %s", p.Actor(), p.MemberID(), Member("m1").Actor())
	}
}

func TestTokenWaitsForTheReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		token, record := newToken(17)
		tab := newTable()
		a := NewAuthorizer(tab)
		go func() {
			time.Sleep(900 * time.Millisecond)
			tab.put(record)
		}()
		if _, err := a.Authenticate(t.Context(), token.Text()); err != nil {
			t.Errorf("Authenticate() = %v, want the token to be awaited", err)
		}
		later, _ := newToken(18)
		for name, authenticate := range map[string]func() (*Principal, error){
			"Authenticate": func() (*Principal, error) { return a.Authenticate(t.Context(), later.Text()) },
			"Forwarded":    func() (*Principal, error) { return a.Forwarded(t.Context(), "18") },
		} {
			began := time.Now()
			if _, err := authenticate(); !errors.Is(err, ErrBehind) || time.Since(began) != replicaWait {
				t.Errorf("%s of a token that the replica has not reached = %v after %v", name, err, time.Since(began))
			}
			tab.never.Store(18)
			began = time.Now()
			if _, err := authenticate(); !unauthenticated(err) || time.Since(began) != 0 {
				t.Errorf("%s of a token that was never issued = %v after %v", name, err, time.Since(began))
			}
			tab.never.Store(0)
		}
		tab.put(&Record{ID: 19})
		if _, err := a.Authenticate(t.Context(), later.Text()); !unauthenticated(err) {
			t.Errorf("Authenticate() of a text that is not a token = %v", err)
		}
	})
}

// Calls from one address do not take all slots, and those from a few addresses keep no other address waiting for long.
func TestCallsThatAwaitTokensAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := NewAuthorizer(newTable())
		present := func(calls int, address string) {
			for range calls {
				go func() {
					began := time.Now()
					later, _ := newToken(18)
					_, err := a.Authenticate(WithAddress(t.Context(), address), later.Text())
					if waited := time.Since(began); !errors.Is(err, ErrBehind) || waited < replicaWait || waited > 2*replicaWait {
						t.Errorf("Authenticate() = %v after %v, want ErrBehind after %v", err, waited, replicaWait)
					}
				}()
			}
			synctest.Wait()
		}
		taken := func(want int) {
			t.Helper()
			a.waiting.mu.Lock()
			defer a.waiting.mu.Unlock()
			if a.waiting.taken != want {
				t.Errorf("%d slots are taken, want %d", a.waiting.taken, want)
			}
		}
		present(maxSlotsFrom+10, "[2001:db8::1]:1000")
		present(10, "[2001:db8::2]:2000") // address in the same network
		taken(maxSlotsFrom)
		present(8, "198.51.100.7:1000")
		taken(maxSlotsFrom + 8)
		present(maxSlots, "192.0.2.1:1000")
		taken(maxSlots)
		time.Sleep(3 * replicaWait)
		synctest.Wait()
		if taken(0); len(a.waiting.from) != 0 {
			t.Errorf("%d addresses are kept when no call waits", len(a.waiting.from))
		}
	})
}

func TestForwardedCallers(t *testing.T) {
	t.Parallel()
	token, record := newToken(17)
	a := NewAuthorizer(newTable(record))
	p, err := a.Authenticate(t.Context(), token.Text())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (Everyone{}).Forwarded(t.Context(), Open().Forwarded()); got != Open() || Open().Forwarded() == "" || err != nil {
		t.Errorf("in an open cluster: %s, %v", got.Actor(), err)
	}
	for _, want := range []*Principal{p, Admin(), a.Anonymous()} {
		if got, err := a.Forwarded(t.Context(), want.Forwarded()); got != want || err != nil {
			t.Errorf("Forwarded(%q) = %s, %v, want %s", want.Forwarded(), got.Actor(), err, want.Actor())
		}
	}
	for _, own := range []*Principal{nil, Member("m1")} {
		if as := own.Forwarded(); as != "" {
			t.Errorf("%s is forwarded as %q", own.Actor(), as)
		}
	}
	for _, as := range []string{"0", "member", "open", "-1", "18446744073709551616", " 17"} {
		if got, err := a.Forwarded(t.Context(), as); !unauthenticated(err) {
			t.Errorf("Forwarded(%q) = %s, %v", as, got.Actor(), err)
		}
	}
}
