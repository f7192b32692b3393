package trust

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRateOfToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		token, record := newToken(17)
		record.Rate, record.Burst = 100, 10
		p, err := NewAuthorizer(newTable(record)).Authenticate(t.Context(), token.Text())
		if err != nil {
			t.Fatal(err)
		}
		spend := func(n uint64, want time.Duration) {
			t.Helper()
			err := p.Spend(n)
			limited, _ := errors.AsType[*RateLimited](err)
			if want == 0 && err != nil || want > 0 && (limited == nil || limited.RetryAfter != want) {
				t.Errorf("Spend(%d) = %v, want to wait %v", n, err, want)
			}
			if limited != nil && limited.Error() != "the token allows 100 numbers per second per member; slow down, or raise the rate of the token" {
				t.Errorf("Error() = %q, want no time, which clients append", limited)
			}
		}
		spend(4, 0)
		spend(6, 0)
		spend(1, 10*time.Millisecond)
		time.Sleep(30 * time.Millisecond)
		spend(3, 0)
		spend(1, 10*time.Millisecond)
		p.Refund(2)
		spend(2, 0)
		time.Sleep(time.Hour)
		spend(50, 0) // full bucket; leaves a debt of 40
		spend(1, 410*time.Millisecond)
		time.Sleep(410 * time.Millisecond)
		spend(1, 0)
	})
}

// A debt at a low rate must not outlast an increase of the rate, and a lower rate must not shorten a debt.
func TestChangedRateScalesDebt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bucket
		b.fill()
		for _, c := range []struct {
			n, rate uint64
			wait    time.Duration
		}{
			{1000, 10, 0}, // full bucket of 10; leaves a debt of 990
			{1, 10, 99*time.Second + 100*time.Millisecond},
			{1, 1000, 991 * time.Millisecond},
			{1, 100, 9*time.Second + 910*time.Millisecond},
		} {
			if wait := b.take(c.n, c.rate, 0); (wait - c.wait).Abs() > time.Microsecond {
				t.Errorf("take(%d) at %d per second = %v, want %v", c.n, c.rate, wait, c.wait)
			}
		}
		time.Sleep(10 * time.Second)
		if wait := b.take(1, 1_000_000, 0); wait != 0 {
			t.Errorf("take(1) without a debt = %v, want 0", wait)
		}
	})
}

func TestSharedRateOfToken(t *testing.T) {
	t.Parallel()
	token, record := newToken(17)
	record.Rate, record.Burst = 1, 1000
	p, err := NewAuthorizer(newTable(record)).Authenticate(t.Context(), token.Text())
	if err != nil {
		t.Fatal(err)
	}
	var spent atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if p.Spend(1) == nil {
					spent.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got := spent.Load(); got < 1000 || got > 1010 {
		t.Errorf("spent %d, want the burst of 1000", got)
	}
}

func BenchmarkCall(b *testing.B) {
	token, record := newToken(17, "seq:next:orders/*", "seq:read:orders/*", RightReadCluster, "ids:issue:default")
	record.ExpiresAtMillis, record.Rate, record.Burst = 1<<40, 1<<40, 1<<40
	a := NewAuthorizer(newTable(record))
	text := token.Text()
	b.ReportAllocs()
	for b.Loop() {
		p, err := a.Authenticate(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		ctx := WithPrincipal(b.Context(), p)
		if err := PrincipalOf(ctx).Authorize(RightIssueIDs, "default"); err != nil {
			b.Fatal(err)
		}
		if err := PrincipalOf(ctx).Authorize(RightIssueIDs, "default"); err != nil {
			b.Fatal(err)
		}
		if err := p.Spend(1); err != nil {
			b.Fatal(err)
		}
	}
}
