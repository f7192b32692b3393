package overview

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// fakeCluster is a Source: the cluster as member a sees it. Its methods may be called from any goroutine.
type fakeCluster struct {
	mu      sync.Mutex
	names   []string
	hang    map[string]bool // members that do not answer until the request times out
	refuse  map[string]bool // members that refuse connections
	asked   map[string]int
	ids     map[string]uint64
	removed map[string]bool
	unnamed map[string]bool // members whose names a does not know
	ahead   int64           // offset of a's clock, ms
}

func newFake(names ...string) *fakeCluster {
	return &fakeCluster{names: names, hang: map[string]bool{}, refuse: map[string]bool{}, asked: map[string]int{}, ids: map[string]uint64{}, removed: map[string]bool{}, unnamed: map[string]bool{}}
}

func (f *fakeCluster) status(name string) *snowraftv1.GetStatusResponse {
	now := time.Now().UnixMilli()
	return &snowraftv1.GetStatusResponse{
		ClusterId: "id", MemberId: name, Name: name, Term: 1, LeaderId: "b", LeaderName: "b", ObservedClockAtMs: now, ClockAtMs: now, Version: "v1",
		Lanes:  []*snowraftv1.Lane{{Layout: "default", Token: 1, ServeUntilAtMs: 2e12}},
		Issued: &snowraftv1.Issued{Ids: f.ids[name]},
	}
}

func (f *fakeCluster) Status() *snowraftv1.GetStatusResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.status("a")
	s.ClockAtMs, s.ClockOffsetMs = s.GetClockAtMs()+f.ahead, f.ahead
	return s
}

func (f *fakeCluster) Members() (all []*snowraftv1.Member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.names {
		if known := name; !f.removed[name] {
			if f.unnamed[name] {
				known = ""
			}
			all = append(all, &snowraftv1.Member{Id: name, Name: known, Alive: true, ApiAddress: name + ":7700", Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER})
		}
	}
	return all
}

func (f *fakeCluster) Ask(ctx context.Context, m *snowraftv1.Member) (*snowraftv1.GetStatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[m.GetId()]++
	switch {
	case f.refuse[m.GetId()]:
		return nil, &rpc.Error{Code: codes.Unavailable, Message: "connection refused"}
	case f.hang[m.GetId()]:
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		return nil, ctx.Err()
	}
	f.ids[m.GetId()] += 1000
	return f.status(m.GetId()), nil
}

func (f *fakeCluster) set(which map[string]bool, name string, value bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	which[name] = value
}

func (f *fakeCluster) askedOf(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[name]
}

func hubOf(t *testing.T, f *fakeCluster) *Hub {
	began := time.Now()
	h := New(Config{Source: f, Now: func() clock.Reading {
		return clock.Reading{Wall: time.Now().UnixMilli() + f.ahead, Mono: time.Since(began).Milliseconds()}
	}})
	t.Cleanup(h.Close)
	return h
}

func watch(t *testing.T, h *Hub) *Watch {
	t.Helper()
	w, err := h.Watch()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func next(t *testing.T, w *Watch) *snowraftv1.Overview {
	t.Helper()
	o, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func answersOf(o *snowraftv1.Overview, name string) bool {
	i := slices.IndexFunc(o.GetMembers(), func(m *snowraftv1.MemberView) bool { return m.GetMember().GetName() == name })
	return i >= 0 && o.GetMembers()[i].GetAnswers()
}

// The number of watchers does not change the number of requests to a member. Without watchers, there are no requests.
func TestWatchersShareRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b", "c")
		h := hubOf(t, f)
		var watches []*Watch
		for range 20 {
			watches = append(watches, watch(t, h))
		}
		if o := next(t, watches[0]); !answersOf(o, "b") || !answersOf(o, "c") || time.Since(time.UnixMilli(o.GetComposedAtMs())) > 0 {
			t.Errorf("the first overview is %v", o)
		}
		got := 0
		for began := time.Now(); time.Since(began) < 10*time.Second; got++ {
			next(t, watches[0])
		}
		if asked := f.askedOf("b"); asked < 10 || asked > 12 {
			t.Errorf("requested %d times in 10 s, want once per second", asked)
		}
		if got < 9 || got > 12 { // nothing changes
			t.Errorf("%d overviews in 10 s, want one per second", got)
		}
		// A watcher that slept for 10 s gets the newest overview.
		if age := time.Since(time.UnixMilli(next(t, watches[1]).GetComposedAtMs())); age > time.Second {
			t.Errorf("a slow watcher gets an overview that is %v old", age)
		}
		for _, w := range watches {
			w.Close()
		}
		time.Sleep(linger + 2*time.Second)
		asked := f.askedOf("b")
		time.Sleep(time.Minute)
		if now := f.askedOf("b"); now != asked {
			t.Errorf("requested %d times without watchers", now-asked)
		}
		if o := next(t, watch(t, h)); !answersOf(o, "b") {
			t.Error("watching again shows no answers")
		}
	})
}

// A silent member is shown within 2 s, and a member that refuses connections sooner. The return of both is also shown.
func TestSilenceIsShownWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b", "c")
		h := hubOf(t, f)
		w := watch(t, h)
		next(t, w)
		for _, c := range []struct {
			how    map[string]bool
			within time.Duration
		}{{f.hang, 2 * time.Second}, {f.refuse, 1300 * time.Millisecond}} {
			for _, offset := range []time.Duration{0, 300, 700, 999} {
				time.Sleep(offset * time.Millisecond)
				for _, silent := range []bool{true, false} {
					f.set(c.how, "c", silent)
					began := time.Now()
					o := next(t, w)
					for answersOf(o, "c") == silent {
						o = next(t, w)
					}
					if took := time.Since(began); took > c.within {
						t.Errorf("%v until c silent: %v is shown, want at most %v", took, silent, c.within)
					}
					if text := o.GetVerdict().GetSentence(); strings.Contains(text, "c does not answer a") != silent {
						t.Errorf("c silent: %v, sentence %q", silent, text)
					}
				}
			}
		}
	})
}

// A member that never answers delays the first overview by at most one second. A removed member vanishes.
func TestFirstOverviewWaitsForAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b", "c")
		f.set(f.hang, "c", true)
		h := hubOf(t, f)
		began := time.Now()
		o, err := h.Get(t.Context())
		if err != nil || len(o.GetMembers()) != 3 || answersOf(o, "c") || time.Since(began) > refresh {
			t.Errorf("Get() = %v, %v after %v", o, err, time.Since(began))
		}
		f.set(f.removed, "c", true)
		time.Sleep(time.Second)
		if o, err := h.Get(t.Context()); err != nil || len(o.GetMembers()) != 2 || o.GetMembers()[1].GetIdsPerSecond() != 1000 {
			t.Errorf("Get() = %v, %v", o, err)
		}
	})
}

// The times of an overview are right although the clock of the composing member is not.
func TestOverviewOfAMemberWithAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b")
		f.ahead = -time.Hour.Milliseconds()
		o := next(t, watch(t, hubOf(t, f)))
		if now := time.Now().UnixMilli(); o.GetComposedAtMs() != now || o.GetMembers()[1].GetSeenAtMs() != now {
			t.Errorf("composed %d ms, and b seen %d ms, from now", o.GetComposedAtMs()-now, o.GetMembers()[1].GetSeenAtMs()-now)
		}
		if at := o.GetMembers()[0].GetClockAtMs(); at != time.Now().UnixMilli()+f.ahead {
			t.Errorf("clock of a at %d, want its own time", at)
		}
	})
}

// A member that was not heard since the start of the composing one is shown by its ID.
func TestMemberWithoutAName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("a", "b", "c-id")
		f.set(f.hang, "c-id", true)
		f.set(f.unnamed, "c-id", true)
		o := next(t, watch(t, hubOf(t, f)))
		if m := o.GetMembers()[2].GetMember(); m.GetName() != "c-id" || !strings.Contains(o.GetVerdict().GetSentence(), "c-id does not answer") {
			t.Errorf("member %v, verdict %q", m, o.GetVerdict().GetSentence())
		}
	})
}

func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := hubOf(t, newFake("a"))
		var last *Watch
		for range MaxWatches {
			last = watch(t, h)
		}
		if _, err := h.Watch(); rpc.FromError(err).Reason != rpc.Overloaded {
			t.Errorf("Watch() = %v, want OVERLOADED", err)
		}
		if _, err := h.Get(t.Context()); err != nil {
			t.Errorf("Get() = %v", err)
		}
		last.Close()
		w := watch(t, h)
		next(t, w)
		h.Close()
		if _, err := w.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next() = %v of a closed Hub", err)
		}
		if _, err := h.Watch(); !errors.Is(err, ErrClosed) {
			t.Errorf("Watch() = %v of a closed Hub", err)
		}
	})
}
