package client_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/fsm"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// holdWorker leases a worker of a layout.
func holdWorker(t *testing.T, c *client.Client, layout, holder string) *client.HeldWorker {
	t.Helper()
	h, err := client.HoldWorker(t.Context(), c, client.WithWorkerLayout(layout), client.WithWorkerHolder(holder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Abandon)
	return h
}

// A held worker allows the times of its window and no other, and its window moves on.
func TestHeldWorkerAllowsItsWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const window = 10 * time.Second
		hosts := startHosts(t, 1, func(c *server.Config) { c.MaxWindow = window })
		h := holdWorker(t, newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 4), "app")
		from, until := h.Window()
		if got := until.Sub(from); got < window-time.Second || got > window+time.Second {
			t.Errorf("the first window lasts %v, want the longest, %v", got, window)
		}
		for _, c := range []struct {
			at   time.Time
			want bool
		}{{from.Add(-time.Millisecond), false}, {from, true}, {until.Add(-time.Millisecond), true}, {until, false}} {
			if got := h.Allows(c.at); got != c.want {
				t.Errorf("Allows(%v) = %v in [%v, %v)", c.at, got, from, until)
			}
		}
		time.Sleep(4 * window)
		if later, end := h.Window(); !later.Equal(from) || time.Until(end) <= 0 || !h.Allows(time.Now()) || h.Problem() != nil {
			t.Errorf("after four windows: [%v, %v) at %v, %v", later, end, time.Now(), h.Problem())
		}
	})
}

// The next holder of a released worker begins after the last time that was allowed.
func TestHeldWorkerReleasesAboveAllowedTimes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c, layout := newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 1)
		first := holdWorker(t, c, layout, "app")
		holdWorker(t, c, layout, "other")
		last := time.Now().Add(300 * time.Millisecond)
		if !first.Allows(last) {
			t.Fatal("a time of the window is not allowed")
		}
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if first.Allows(last) {
			t.Error("a closed worker allows a time")
		}
		second := holdWorker(t, c, layout, "app")
		if from, _ := second.Window(); second.Worker() != first.Worker() || !from.After(last) || from.After(last.Add(2*time.Millisecond)) {
			t.Errorf("worker %d from %v, want worker %d soon after %v", second.Worker(), from, first.Worker(), last)
		}
	})
}

// An abandoned worker stays taken until its window ends.
func TestAbandonedWorkerIsNotReleased(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c, layout := newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 4)
		first := holdWorker(t, c, layout, "app")
		first.Abandon()
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if second := holdWorker(t, c, layout, "app"); second.Worker() == first.Worker() {
			t.Error("an abandoned worker was granted again")
		}
	})
}

// Without a cluster, a held worker is lost at the end of its window.
func TestHeldWorkerIsLostAtTheEndOfItsWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1, func(c *server.Config) { c.MaxWindow = 10 * time.Second })
		h := holdWorker(t, newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 4), "app")
		hosts[0].end(0)
		<-h.Lost()
		if _, until := h.Window(); time.Until(until) > 0 || h.Allows(time.Now()) || h.Problem() == nil {
			t.Errorf("lost at %v, and the window ends at %v: %v", time.Now(), until, h.Problem())
		}
	})
}

// A holder that hears that the cluster was set back allows nothing more, although its window has not ended.
func TestHeldWorkerIsLostWhenTheClusterWasSetBack(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		eventually(t, "the cluster accepts the newest commands", func() (newest bool) {
			hosts[0].server.Member().State().View(func(s *fsm.State) { newest = s.FSMVersion() == fsm.Version })
			return newest
		})
		c := newApplication(t, apis(hosts...))
		h := holdWorker(t, c, hosts[0].narrow("narrow", 4), "app")
		_, until := h.Window()
		if _, err := snowraftv1.NewOperationsServiceClient(c.Conn()).SealCluster(t.Context(), &snowraftv1.SealClusterRequest{}); err != nil {
			t.Fatal(err)
		}
		<-h.Lost()
		if !time.Now().Before(until) {
			t.Fatal("the window ended first, so that the test shows nothing")
		}
		if h.Allows(time.Now()) {
			t.Error("the rest of the window is allowed")
		}
	})
}

// A holder gets a worker below its number, and the cluster describes its process.
func TestHeldWorkerIsBelowANumber(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c, layout := newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 4)
		first := holdWorker(t, c, layout, "a")
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		below := client.WithWorkerBelow(first.Worker() + 1)
		if h, err := client.HoldWorker(short, c, client.WithWorkerLayout(layout), below); !errors.Is(err, client.ErrWorkersExhausted) {
			t.Errorf("HoldWorker() = %v, %v, want no worker below %d", h, err, first.Worker()+1)
		}
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		h, err := client.HoldWorker(t.Context(), c, client.WithWorkerLayout(layout), below, client.WithWorkerProgram("app", "v7"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Abandon)
		if p := hosts[0].granted(layout)[h.Worker()].GetProcess(); h.Worker() != first.Worker() || p.GetKind() != "app" || p.GetVersion() != "v7" || p.GetProcessId() == "" {
			t.Errorf("worker %d of %v, want worker %d of app v7", h.Worker(), p, first.Worker())
		}
	})
}

// A failure that lasts is logged less and less often, and its end once.
func TestHeldWorkerLogsFewFailures(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c, layout := newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 1)
		first := holdWorker(t, c, layout, "a")
		holdWorker(t, c, layout, "b")
		go func() {
			time.Sleep(20 * time.Second)
			_ = first.Close(context.Background())
		}()
		var log strings.Builder
		h, err := client.HoldWorker(t.Context(), c, client.WithWorkerLayout(layout), client.WithWorkerLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatal(err)
		}
		h.Abandon()
		if failed, ended := strings.Count(log.String(), "worker not acquired; retrying"), strings.Count(log.String(), "worker acquired"); failed != 3 || ended != 1 {
			t.Errorf("%d lines about the failure and %d about its end, want 3 and 1:\n%s", failed, ended, log.String())
		}
	})
}

// The error of a call names its member and its reason once.
func TestHoldWorkerPassesOnTheErrorOfAMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		_, err := client.HoldWorker(t.Context(), newApplication(t, apis(hosts...)), client.WithWorkerBelow(1<<40))
		if !errors.Is(err, client.ErrInvalidArgument) || strings.Count(err.Error(), "snowraft: ") != 1 || strings.Count(err.Error(), "[INVALID_ARGUMENT]") != 1 {
			t.Errorf("HoldWorker() = %v", err)
		}
	})
}

// HoldWorker waits while the cluster may grant a worker later, and fails at once if it never will.
func TestHoldWorkerWaitsForAWorker(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		hosts := startHosts(t, 1)
		c, layout := newApplication(t, apis(hosts...)), hosts[0].narrow("narrow", 1)
		if _, err := client.HoldWorker(t.Context(), c, client.WithWorkerLayout("nope")); !errors.Is(err, client.ErrUnknownLayout) {
			t.Errorf("unknown layout: %v", err)
		}
		first := holdWorker(t, c, layout, "a")
		holdWorker(t, c, layout, "b")
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := client.HoldWorker(short, c, client.WithWorkerLayout(layout)); !errors.Is(err, client.ErrWorkersExhausted) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no free worker: %v", err)
		}
		go func() {
			time.Sleep(5 * time.Second)
			_ = first.Close(context.Background())
		}()
		if h := holdWorker(t, c, layout, "c"); h.Worker() != first.Worker() {
			t.Errorf("worker %d, want the released %d", h.Worker(), first.Worker())
		}
	})
}
