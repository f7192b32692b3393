package client

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// behind returns an answering that issues IDs of m and refuses greater floors than 1000, like a member whose clock is
// behind.
func behind(m *fake) answering {
	return func(_ context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
		if req.GetAfter() > 1000 {
			return nil, &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, Message: "refused by the test", RetryAfter: time.Second}
		}
		return m.issue(req), nil
	}
}

// IDs of a session increase, even across members that issue independently, for single IDs and many IDs, and for
// concurrent and successive calls.
func TestSessionsIncrease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		f.members[0].does(behind(f.members[0]))
		ids := f.client(f.addrs()).IDs("")
		s := ids.Session(0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var mine []int64
				for n := range 50 {
					floor := s.Last()
					have := len(mine)
					var err error
					if n%2 == 0 {
						var id int64
						id, err = s.Next(t.Context())
						mine = append(mine, id)
					} else {
						mine, err = s.Append(t.Context(), mine, 1+n)
					}
					if err != nil || mine[have] <= floor || s.Last() < mine[len(mine)-1] {
						t.Errorf("after %d came %d, %v", floor, mine[have:], err)
						return
					}
				}
				if !slices.IsSorted(mine) || len(slices.Compact(mine)) != 25+25*26 {
					t.Errorf("%d IDs that do not increase", len(mine))
				}
			})
		}
		wg.Wait()
		other := ids.Session(s.Last())
		if id, err := other.Next(t.Context()); err != nil || id <= s.Last() {
			t.Errorf("%d after %d, %v", id, s.Last(), err)
		}
	})
}

// A floor that no member can exceed fails only the caller that set it, and no concurrent caller. A floor for which
// members wait does not delay callers without a floor.
func TestFloorsAffectOnlyTheirCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs())
		f.warm(c)
		ids := c.IDs("")
		release := make(chan struct{})
		for _, m := range f.members {
			m.does(func(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
				if req.GetAfter() > math.MaxInt64/2 {
					return nil, &rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, Message: "refused by the test", RetryAfter: time.Second}
				}
				if req.GetAfter() > 0 {
					select {
					case <-release:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return m.issue(req), nil
			})
		}
		waits := make(chan error, 1)
		go func() {
			_, err := ids.Session(1).Next(t.Context())
			waits <- err
		}()
		var far sync.WaitGroup
		stop := make(chan struct{})
		for range 8 {
			far.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
					_, err := ids.Session(math.MaxInt64 - 1).Next(ctx)
					cancel()
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		if slowest := askAll(t, c, 4, 20); slowest != 0 {
			t.Errorf("a call without a floor took %v", slowest)
		}
		close(release)
		if err := <-waits; err != nil {
			t.Error(err)
		}
		s := ids.Session(1)
		for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
			if _, err := s.Next(t.Context()); err != nil {
				t.Error(err)
				break
			}
			time.Sleep(time.Millisecond)
		}
		close(stop)
		far.Wait()
	})
}

// IDs of a session are in order even if IDs of several lanes interleave.
func TestSessionsSort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		s := f.client(f.addrs()).IDs("").Session(0)
		f.members[0].does(func(_ context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			return &snowraftv1.GenerateIdsResponse{Ranges: ranges(101, 2, 4, 100, 2, 4)}, nil
		})
		got, err := s.Append(t.Context(), nil, 4)
		if err != nil || !slices.Equal(got, []int64{100, 101, 104, 105}) || s.Last() != 105 {
			t.Errorf("%d, %d, %v", got, s.Last(), err)
		}
	})
}

// A call for several IDs appends exactly the requested number to the slice.
func TestSeveralIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		ids := f.client(f.addrs()).IDs("")
		seen := map[int64]bool{7: true}
		all := []int64{7}
		for _, n := range []int{1, 3, maxShared, maxShared + 1, limits.Count} {
			have := len(all)
			var err error
			if all, err = ids.Append(t.Context(), all, n); err != nil || len(all) != have+n || all[0] != 7 {
				t.Fatalf("%d IDs, want %d more than %d: %v", len(all), n, have, err)
			}
			for _, id := range all[have:] {
				if seen[id] {
					t.Fatalf("ID %d twice", id)
				}
				seen[id] = true
			}
			ranges, err := ids.Ranges(t.Context(), n)
			sum := 0
			for _, r := range ranges {
				sum += r.Count
			}
			if err != nil || sum != n {
				t.Fatalf("%d IDs in ranges, want %d: %v", sum, n, err)
			}
		}
		for _, n := range []int{-1, 0, limits.Count + 1} {
			if got, err := ids.Append(t.Context(), all[:1], n); !errors.Is(err, ErrInvalidArgument) || len(got) != 1 {
				t.Errorf("%d: %v, %v", n, got, err)
			}
		}
		for _, floor := range []int64{-1, math.MinInt64} {
			session := ids.Session(floor)
			if id, err := session.Next(t.Context()); !errors.Is(err, ErrInvalidArgument) {
				t.Errorf("above %d: %d, %v", floor, id, err)
			}
			if got, err := session.Append(t.Context(), all[:1], 2); !errors.Is(err, ErrInvalidArgument) || len(got) != 1 {
				t.Errorf("above %d: %v, %v", floor, got, err)
			}
		}
	})
}
