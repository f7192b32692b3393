package main

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
)

func TestTriesEveryAddress(t *testing.T) {
	t.Parallel()
	good := clitest.NewAPI(t)
	for _, e := range []*rpc.Error{
		{Code: codes.Unavailable, Reason: rpc.NotLeader},
		{Code: codes.Unavailable, Reason: rpc.NoLeader},
		{Code: codes.Unavailable, Reason: rpc.ClockBehind, RetryAfter: time.Hour},
		{Code: codes.Unavailable, Reason: rpc.ClockSkew},
		{Code: codes.Unavailable, Reason: rpc.WindowEnded},
		{Code: codes.Unavailable, Reason: rpc.ShuttingDown},
		{Code: codes.ResourceExhausted, Reason: rpc.WorkersExhausted},
	} {
		bad := clitest.NewAPI(t)
		e.Message = "no"
		bad.Refuse(e)
		addresses := strings.Join([]string{clitest.DeadAddress, bad.Address, good.Address}, ",")
		succeeds(t, "id", "--addr", addresses)
		if n := len(bad.Requests()); n != 1 {
			t.Errorf("%s: the member got %d requests, want 1", e.Reason, n)
		}
	}
}

func TestRefusalIsFinal(t *testing.T) {
	t.Parallel()
	bad, other := clitest.NewAPI(t), clitest.NewAPI(t)
	bad.Refuse(&rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownLayout, Message: "there is no layout \"x\""})
	_, stderr, code := command(t, "id", "--layout", "x", "--addr", bad.Address+","+other.Address)
	if want := "snowraft: there is no layout \"x\" [UNKNOWN_LAYOUT]\n"; code != cli.ExitFailed || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("the other member got %d requests, want 0", n)
	}
}

func TestNamesEveryAddressThatFailed(t *testing.T) {
	t.Parallel()
	behind := clitest.NewAPI(t)
	behind.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.ClockBehind, Message: "this clock moved backwards", RetryAfter: 4*time.Second + time.Microsecond})
	const first, second = clitest.DeadAddress, clitest.OtherDeadAddress
	stdout, stderr, code := command(t, "id", "--addr", first+","+behind.Address+","+second)
	want := "snowraft: no answer from any of 3 members: " + first + ": connection refused; " +
		behind.Address + ": this clock moved backwards [CLOCK_BEHIND], try again in 4.001s; " + second + ": connection refused\n"
	if code != cli.ExitRepeatable || stderr != want || stdout != "" {
		t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, stdout, stderr, want)
	}
	_, stderr, code = command(t, "status", "--addr", first)
	if want := "snowraft: " + first + ": connection refused; start a member with \"snowraft serve\", or set --addr\n"; code != cli.ExitRepeatable || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}

func TestRetriesDuringAnElection(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var calls atomic.Int32
	f.Before(func(context.Context) error {
		if calls.Add(1) < 4 {
			return &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader", RetryAfter: 20 * time.Millisecond}
		}
		return nil
	})
	succeeds(t, "layout", "list", "--addr", f.Address)
	if calls.Load() != 4 {
		t.Errorf("%d calls, want 4", calls.Load())
	}
}

func TestRetriesEndWithTheTimeout(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader", RetryAfter: 50 * time.Millisecond})
	_, stderr, code := command(t, "layout", "list", "--addr", f.Address, "--timeout", "2s")
	if want := "snowraft: no leader [NO_LEADER], try again in 50ms\n"; code != cli.ExitRepeatable || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
	if n := len(f.Requests()); n < 2 {
		t.Errorf("the member got %d requests, want more", n)
	}
}

// The member's deadline may pass a moment before the client's. The error that the member sent before is more specific.
func TestDeadlinesOfMembersSayLittle(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	refusals := make(chan error, 1)
	refusals <- &rpc.Error{Code: codes.Unavailable, Reason: rpc.NoLeader, Message: "no leader"}
	f.Before(func(context.Context) error {
		select {
		case refusal := <-refusals:
			return refusal
		default:
			return &rpc.Error{Code: codes.DeadlineExceeded}
		}
	})
	_, stderr, code := command(t, "layout", "list", "--addr", f.Address)
	if want := "snowraft: no leader [NO_LEADER]\n"; code != cli.ExitRepeatable || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}

// A stopped process, or a process that is not a member, may accept connections and never answer. Each of two addresses gets half
// of the time.
func TestSilentAddress(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	stuck := clitest.NewAPI(t)
	stuck.Before(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	for name, silent := range map[string]string{"connection": l.Addr().String(), "call": stuck.Address} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			succeeds(t, "id", "--addr", silent+","+clitest.NewAPI(t).Address, "--timeout", "10s")
		})
	}
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		_, stderr, code := command(t, "id", "--addr", stuck.Address, "--timeout", "2s")
		if want := "snowraft: no answer in time\n"; code != cli.ExitRepeatable || stderr != want {
			t.Errorf("exit code %d, %q, want %q", code, stderr, want)
		}
	})
}

func TestNotTheAPI(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	_, stderr, code := command(t, "id", "--addr", l.Addr().String(), "--timeout", "500ms")
	if code != cli.ExitRepeatable || !strings.Contains(stderr, "connected, but no API answers at this address; set --addr to the API address of a member") && !strings.Contains(stderr, "no connection in time") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// The client does not repeat a call that may have had its effect, unless a repetition is harmless.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for line, asked := range map[string]int{
		"member remove b": 0, "leader transfer": 0, "seq delete orders": 0, "seq set orders 5": 0,
		"seq update orders --max 9": 0, "clock reset": 0, "seq create orders --force": 0, "config set --max-window 1m": 0,
		"seq next orders": 1, "seq create orders": 1,
		"id": 1, "layout get a": 1,
	} {
		first, second := clitest.NewAPI(t), clitest.NewAPI(t)
		first.Before(func(context.Context) error { return status.Error(codes.Unavailable, "the connection was reset") })
		_, stderr, code := command(t, append(strings.Fields(line), "--addr", first.Address+","+second.Address)...)
		if n := len(second.Requests()); n != asked {
			t.Errorf("%s: the second member got %d requests, want %d", line, n, asked)
		}
		if asked == 0 && (code != cli.ExitFailed || !strings.Contains(stderr, "connection lost")) {
			t.Errorf("%s: exit code %d, %q", line, code, stderr)
		}
		safe := clitest.NewAPI(t)
		safe.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.NotLeader, Message: "not the leader"})
		succeeds(t, append(strings.Fields(line), "--addr", clitest.DeadAddress+","+safe.Address+","+second.Address)...)
	}
}

func TestStaysWithTheMemberThatAnswers(t *testing.T) {
	t.Parallel()
	bad, good := clitest.NewAPI(t), clitest.NewAPI(t)
	bad.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.WindowEnded, Message: "no"})
	succeeds(t, "id", "-n", "3000000", "--addr", bad.Address+","+good.Address)
	if n, m := len(bad.Requests()), len(good.Requests()); n != 1 || m != 3 {
		t.Errorf("the members got %d and %d requests, want 1 and 3", n, m)
	}
}
