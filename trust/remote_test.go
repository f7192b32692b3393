package trust

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A gateway queries members once in 30 s for each token, whichever callers present it. After that a revocation
// counts, also for a principal that a connection keeps.
func TestRemoteQueriesOnceAndRenews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		record := atomic.Pointer[Record]{}
		record.Store(&Record{ID: 7, Name: "app", Scopes: []Scope{"ids:issue:default"}})
		r := NewRemote(func(context.Context, string) (*Record, error) {
			asked.Add(1)
			time.Sleep(time.Millisecond)
			return record.Load(), nil
		})
		text := Token{ID: 7, Secret: NewTokenSecret()}.Text()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if p, err := r.Authenticate(t.Context(), text); err != nil || p.Authorize("ids:issue", "default") != nil || p.Authorize("ids:issue", "other") == nil {
					t.Errorf("%v", err)
				}
			})
		}
		wg.Wait()
		p, err := r.Authenticate(t.Context(), text)
		if err != nil || asked.Load() != 1 || p.Bearer() != text || p.Actor() != "token 7 (app)" {
			t.Fatalf("%v after %d queries: %v", p.Actor(), asked.Load(), err)
		}
		record.Store(nil)
		time.Sleep(verdictLife - time.Second)
		if err := p.Authorize("ids:issue", "default"); err != nil || asked.Load() != 1 {
			t.Errorf("%d queries: %v", asked.Load(), err)
		}
		time.Sleep(time.Second)
		denied, ok := errors.AsType[*Denied](p.Authorize("ids:issue", "default"))
		if !ok || !denied.Unauthenticated || asked.Load() != 2 {
			t.Errorf("%d queries: %v", asked.Load(), denied)
		}
	})
}

// A token is one principal with one rate, whatever pin its text has.
func TestRemoteIgnoresPin(t *testing.T) {
	t.Parallel()
	r := NewRemote(func(context.Context, string) (*Record, error) {
		return &Record{ID: 7, Scopes: []Scope{"ids:issue:*"}, Rate: 1, Burst: 1}, nil
	})
	token := Token{ID: 7, Secret: NewTokenSecret()}
	first, err := r.Authenticate(t.Context(), token.Text())
	if err != nil {
		t.Fatal(err)
	}
	token.Pin = NewSecret().Authority().Pin()
	if p, err := r.Authenticate(t.Context(), token.Text()); err != nil || p != first {
		t.Errorf("with a pin, the token is %v, another principal: %v", p.Actor(), err)
	}
}

// While no member answers, known verdicts count until they expire. After that, no token is accepted.
func TestRemoteFailsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("no member answers")
		var err error
		r := NewRemote(func(context.Context, string) (*Record, error) {
			if err != nil {
				return nil, err
			}
			return &Record{Scopes: []Scope{"metrics:read"}}, nil
		})
		p, first := r.Authenticate(t.Context(), "")
		if first != nil || !p.IsAnonymous() || p.Bearer() != "" {
			t.Fatal(first)
		}
		err = down
		if e := p.Authorize("metrics:read", ""); e != nil {
			t.Error(e)
		}
		time.Sleep(verdictLife)
		if e := p.Authorize("metrics:read", ""); !errors.Is(e, down) {
			t.Errorf("the error is %v, want %v", e, down)
		}
		if _, e := r.Authenticate(t.Context(), "nothing"); e == nil || errors.Is(e, down) {
			t.Errorf("a text that is not a token: %v", e)
		}
		if _, e := r.Forwarded(t.Context(), "admin"); e == nil {
			t.Error("a gateway took a forwarded call")
		}
	})
}

// The memory for verdicts is bounded, whatever texts callers present, and strangers displace no good token.
func TestRemoteStrangersDisplaceNoGoodToken(t *testing.T) {
	t.Parallel()
	good := Token{ID: 7, Secret: NewTokenSecret()}.Text()
	var asked atomic.Int64
	r := NewRemote(func(_ context.Context, text string) (*Record, error) {
		if text != good {
			return nil, nil
		}
		asked.Add(1)
		return &Record{ID: 7}, nil
	})
	first, err := r.Authenticate(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*maxVerdicts + 100 {
		if _, err := r.Authenticate(t.Context(), Token{ID: uint64(i) + 1}.Text()); err == nil {
			t.Fatal("a token that no member knows was taken")
		}
	}
	if p, err := r.Authenticate(t.Context(), good); err != nil || p != first || asked.Load() != 1 {
		t.Errorf("the good token is another principal: %v, after %d queries: %v", p != first, asked.Load(), err)
	}
	if m := &r.verdicts; len(m.untrusted) > maxVerdicts || len(m.arrivals) > maxVerdicts || len(m.good) != 1 {
		t.Errorf("%d strangers, %d arrivals, %d good", len(m.untrusted), len(m.arrivals), len(m.good))
	}
}

// However many strangers wait for an answer, the verdict on a good token is renewed at once.
func TestRemoteStrangersDelayNoGoodToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := Token{ID: 7, Secret: NewTokenSecret()}.Text()
		r := NewRemote(func(ctx context.Context, text string) (*Record, error) {
			if text == good || text == "" {
				time.Sleep(time.Millisecond)
				return &Record{ID: 7, Scopes: []Scope{"ids:issue:default"}}, nil
			}
			select {
			case <-time.After(time.Second): // like a member that waits for a later token
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		kept, err := r.Authenticate(t.Context(), good)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Authenticate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(verdictLife)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 10 * maxSlots {
			go func() { _, _ = r.Authenticate(ctx, Token{ID: uint64(i) + 100}.Text()) }()
		}
		synctest.Wait()
		began := time.Now()
		for _, text := range []string{"", good} {
			if _, err := r.Authenticate(t.Context(), text); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(began); waited > 10*time.Millisecond {
			t.Errorf("callers that were known waited for %v", waited)
		}
		time.Sleep(verdictLife)
		began = time.Now()
		if err := kept.Authorize("ids:issue", "default"); err != nil || time.Since(began) > 10*time.Millisecond {
			t.Errorf("a connection that keeps its principal waited for %v: %v", time.Since(began), err)
		}
		cancel()
		synctest.Wait()
	})
}

// However many texts one or two hosts present, a token from another host is verified at once, or after the
// first queries that are answered. All waiting calls are served in the end, and the places are free again.
func TestRemoteQuestionsTakeTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hosts int
		most  time.Duration
	}{{"one host", 1, time.Millisecond}, {"two hosts", 2, time.Second + time.Millisecond}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				good := Token{ID: 7, Secret: NewTokenSecret()}.Text()
				asked := 0
				var mu sync.Mutex
				r := NewRemote(func(ctx context.Context, text string) (*Record, error) {
					if text == good {
						time.Sleep(time.Millisecond)
						return &Record{ID: 7}, nil
					}
					mu.Lock()
					asked++
					mu.Unlock()
					select {
					case <-time.After(time.Second):
						return nil, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
				const each = 1000
				var strangers sync.WaitGroup
				impatient, giveUp := context.WithTimeout(t.Context(), 1500*time.Millisecond)
				defer giveUp()
				for host := range c.hosts {
					for i := range each {
						ctx := t.Context()
						if i%3 == 2 {
							ctx = impatient
						}
						ctx = WithAddress(ctx, fmt.Sprintf("192.0.2.%d:%d", host, i+1))
						strangers.Go(func() { _, _ = r.Authenticate(ctx, Token{ID: uint64(host*each+i) + 100}.Text()) })
					}
				}
				synctest.Wait()
				if mu.Lock(); asked != min(c.hosts*maxSlotsFrom, maxSlots) {
					t.Errorf("%d queries at once", asked)
				}
				mu.Unlock()
				began := time.Now()
				if _, err := r.Authenticate(WithAddress(t.Context(), "198.51.100.1:1"), good); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited > c.most {
					t.Errorf("a caller from another host waited for %v, want at most %v", waited, c.most)
				}
				strangers.Wait()
				if r.asked.taken != 0 || len(r.asked.from) != 0 || r.asked.next.Len() != 0 {
					t.Errorf("%d places are taken, by %d origins, and %d wait", r.asked.taken, len(r.asked.from), r.asked.next.Len())
				}
				if least := c.hosts * each * 2 / 3; asked < least {
					t.Errorf("%d queries, want at least %d", asked, least)
				}
			})
		})
	}
}

// A revoked token is a stranger's: its refusal is remembered for a second, and it takes no place of good
// tokens.
func TestRemoteRevokedTokenIsStranger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := Token{ID: 7, Secret: NewTokenSecret()}.Text()
		record, asked := &Record{ID: 7}, 0
		r := NewRemote(func(context.Context, string) (*Record, error) {
			asked++
			return record, nil
		})
		p, err := r.Authenticate(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		record = nil
		time.Sleep(verdictLife)
		for range 10 {
			if _, err := r.Authenticate(t.Context(), text); err == nil {
				t.Fatal("a revoked token was taken")
			}
		}
		if asked != 2 || len(r.verdicts.good) != 0 || len(r.verdicts.untrusted) != 1 {
			t.Errorf("%d queries, %d good, %d strangers", asked, len(r.verdicts.good), len(r.verdicts.untrusted))
		}
		record = &Record{ID: 7} // the expiry was extended
		time.Sleep(refusalLife)
		if again, err := r.Authenticate(t.Context(), text); err != nil || again != p || len(r.verdicts.good) != 1 {
			t.Errorf("taken again as another principal: %v: %v", again != p, err)
		}
	})
}
