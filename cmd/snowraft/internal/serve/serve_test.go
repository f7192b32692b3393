package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
)

// serving is a serve command that runs with a fake member.
type serving struct {
	*testApp
	member *fakeMember
	opened chan struct{} // closed when serve has opened the member, or has returned without it
	code   chan int
}

func serve(ctx context.Context, m *fakeMember, args ...string) *serving {
	s := &serving{testApp: newTestApp(), member: m, opened: make(chan struct{}), code: make(chan int, 1)}
	opened := sync.OnceFunc(func() { close(s.opened) })
	s.open = func(context.Context, server.Config) (member, error) {
		opened()
		return m, nil
	}
	go func() {
		defer opened()
		s.code <- s.run(ctx, append([]string{"serve", "--name", "a"}, args...)...)
	}()
	return s
}

func TestServeUntilSignal(t *testing.T) {
	t.Parallel()
	s := serve(t.Context(), newFakeMember())
	<-s.opened
	s.Sent <- interrupt
	if code := <-s.code; code != cli.ExitDone {
		t.Errorf("exit code %d: %s", code, s.Err.String())
	}
	select {
	case <-s.member.closed:
	default:
		t.Error("the member was not closed")
	}
	for _, want := range []string{"member started", "name=a", "api=127.0.0.1:1", "http=127.0.0.1:2", "raft=127.0.0.1:3", "gossip=127.0.0.1:4", "redis=127.0.0.1:5", "member stopped"} {
		if !strings.Contains(s.Err.String(), want) {
			t.Errorf("the log has no %q: %s", want, s.Err.String())
		}
	}
	if s.Out.String() != "" {
		t.Errorf("serve prints %q", s.Out.String())
	}
}

func TestServeTellsWhenReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve(t.Context(), newFakeMember(), "--log-format", "json")
		synctest.Wait()
		var ready struct{ Time, Level, Msg, Cluster, API string }
		lines := strings.Split(strings.TrimSpace(s.Err.String()), "\n")
		decoder := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&ready); err != nil {
			t.Fatal(err)
		}
		if ready.Msg != "member is ready to issue IDs" || ready.Cluster != "cluster-1" || ready.API != "127.0.0.1:1" {
			t.Errorf("the last line is %+v", ready)
		}
		s.Sent <- interrupt
		<-s.code
	})
}

func TestServeEndsWithItsMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, cli.ExitDone, "member left the cluster"},
		{errors.New("the disk is full"), cli.ExitFailed, "\nsnowraft: the disk is full\n"},
		{fmt.Errorf("halted: %w", cluster.ErrRemoved), cli.ExitRemoved, "\nsnowraft: halted: this member was removed from the cluster"},
	} {
		m := newFakeMember()
		s := serve(t.Context(), m)
		m.end(c.err)
		if code := <-s.code; code != c.code || !strings.Contains(s.Err.String(), c.says) {
			t.Errorf("%v: exit code %d, want %d and %q in %s", c.err, code, c.code, c.says, s.Err.String())
		}
		<-m.closed
	}
}

// A member that is stuck does not prevent the exit.
func TestServeStopsWhileReadinessIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, stuck := newFakeMember(), make(chan struct{})
		defer close(stuck)
		m.ready = func() error { <-stuck; return nil }
		s := serve(t.Context(), m)
		synctest.Wait()
		began := time.Now()
		s.Sent <- interrupt
		if code := <-s.code; code != cli.ExitFailed || !strings.Contains(s.Err.String(), "not complete after 10s") {
			t.Errorf("exit code %d: %s", code, s.Err.String())
		}
		if took := time.Since(began); took != shutdownLimit {
			t.Errorf("serve stopped after %v, want %v", took, shutdownLimit)
		}
	})
}

func TestSignalWhileStarting(t *testing.T) {
	t.Parallel()
	a := newTestApp()
	a.open = func(ctx context.Context, _ server.Config) (member, error) {
		a.Sent <- interrupt
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if code := a.run(t.Context(), "serve"); code != cli.ExitDone || a.Err.String() != "" {
		t.Errorf("exit code %d, %q", code, a.Err.String())
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration, err error) func(context.Context, chan struct{}) error {
		return func(_ context.Context, stop chan struct{}) error {
			select {
			case <-time.After(d):
			case <-stop:
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		shut   func(ctx context.Context, stop chan struct{}) error
		second time.Duration // time of another signal; 0: none
		took   time.Duration
		says   string
	}{
		"in order":      {after(time.Second, nil), 0, time.Second, ""},
		"with an error": {after(time.Second, errors.New("the disk is full")), 0, time.Second, "the disk is full"},
		"too long":      {after(time.Hour, nil), 0, shutdownLimit, "not complete after 10s"},
		"after long waits": {func(ctx context.Context, _ chan struct{}) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil
		}, 0, 9 * time.Second, ""},
		"a second signal":    {after(time.Hour, nil), 2 * time.Second, 2 * time.Second, "second signal"},
		"the same one twice": {after(time.Second, nil), time.Millisecond, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{}) // stops an abandoned shutdown
				defer close(stop)
				again := make(chan os.Signal, 1)
				if c.second > 0 {
					time.AfterFunc(c.second, func() { again <- interrupt })
				}
				began := time.Now()
				err := closeInOrder(again, func(ctx context.Context) error { return c.shut(ctx, stop) })
				if took := time.Since(began); took != c.took {
					t.Errorf("the shutdown took %v, want %v", took, c.took)
				}
				switch {
				case c.says == "" && err != nil, c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
					t.Errorf("the error is %v, want %q", err, c.says)
				}
			})
		})
	}
}
