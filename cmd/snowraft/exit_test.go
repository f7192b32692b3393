package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
)

// lasting returns an error with a long retry delay, so that the command fails immediately.
func lasting(reason string) *rpc.Error {
	e := rpc.NewError(reason, "no")
	e.RetryAfter = time.Hour
	return e
}

// The test covers every row of the table of reasons, for a command that may be repeated after an unknown outcome and for a
// command that may not.
func TestExitCodesFollowTheTableOfReasons(t *testing.T) {
	t.Parallel()
	for _, r := range rpc.Reasons() {
		for line, harmless := range map[string]bool{"layout list": true, "seq set orders 5": false} {
			t.Run(r.Name+" "+line, func(t *testing.T) {
				t.Parallel()
				want := cli.ExitFailed
				if r.Repeat == rpc.RepeatYes || r.Repeat == rpc.RepeatLater || r.Repeat == rpc.RepeatByMethod && harmless {
					want = cli.ExitRepeatable
				}
				f := clitest.NewAPI(t)
				f.Refuse(lasting(r.Name))
				_, stderr, code := command(t, append(strings.Fields(line), "--addr", f.Address)...)
				if code != want || !strings.Contains(stderr, "["+r.Name+"]") {
					t.Errorf("exit code %d, want %d; %s", code, want, stderr)
				}
			})
		}
	}
}

// Scripts depend on the numbers in docs/errors.md.
func TestExitCodesAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for code, meaning := range map[int]string{
		cli.ExitDone: "The command succeeded.", cli.ExitFailed: "The command failed, or its outcome is unknown.",
		cli.ExitUsage: "The command line, the environment or the configuration file is wrong.", cli.ExitRepeatable: "The command failed for now:",
		cli.ExitRemoved: "For `snowraft serve`: the member was removed from its cluster, or its cluster was superseded.",
	} {
		if row := fmt.Sprintf("\n| %d | %s", code, meaning); !strings.Contains(string(page), row) {
			t.Errorf("docs/errors.md has no row %q", row)
		}
	}
}

// systemd must not start a removed member again.
func TestUnitKnowsTheExitCodeOfRemovedMembers(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../deploy/linux/snowraft.service")
	if err != nil {
		t.Fatal(err)
	}
	if line := fmt.Sprintf("\nRestartPreventExitStatus=%d\n", cli.ExitRemoved); !strings.Contains(string(unit), line) {
		t.Errorf("deploy/linux/snowraft.service has no line %q", line)
	}
}

func TestExitCodeOfScripts(t *testing.T) {
	t.Parallel()
	leave := "member leave"
	for _, tc := range []struct {
		name, line string
		err        error // answer of the member; nil: no answer
		want       int
	}{
		{"no leader", "seq set orders 5", lasting(rpc.NoLeader), cli.ExitRepeatable},
		{"no leader", leave, lasting(rpc.NoLeader), cli.ExitRepeatable},
		{"overloaded", "seq delete orders", lasting(rpc.Overloaded), cli.ExitRepeatable},
		{"clock behind", "id", lasting(rpc.ClockBehind), cli.ExitRepeatable},
		{"clock skew", "seq set orders 5", lasting(rpc.ClockSkew), cli.ExitRepeatable},
		{"a member to add is unreachable", "member add 127.0.0.1:1", lasting(rpc.MemberUnreachable), cli.ExitRepeatable},
		{"the limit is reached", "seq create orders", lasting(rpc.LimitReached), cli.ExitFailed},
		{"leaving already", leave, lasting(rpc.AlreadyLeaving), cli.ExitFailed},
		{"another client's change", "seq update orders --max 9", lasting(rpc.SequenceChanged), cli.ExitFailed},
		{"a later version's reason", "id", &rpc.Error{Code: codes.Unavailable, Reason: "NEW", Message: "no"}, cli.ExitFailed},
		{"unknown outcome", "seq next orders", lasting(rpc.CommitUnknown), cli.ExitRepeatable},
		{"unknown outcome", "seq create orders", lasting(rpc.CommitUnknown), cli.ExitRepeatable},
		{"unknown outcome", "seq create orders --force", lasting(rpc.CommitUnknown), cli.ExitFailed},
		{"unknown outcome", "member remove b", lasting(rpc.CommitUnknown), cli.ExitFailed},
		{"unknown outcome", leave, lasting(rpc.CommitUnknown), cli.ExitFailed},
		{"a broken connection", "seq next orders", status.Error(codes.Unavailable, "reset"), cli.ExitRepeatable},
		{"a broken connection", "seq set orders 5", status.Error(codes.Unavailable, "reset"), cli.ExitFailed},
		{"no answer", "seq next orders", nil, cli.ExitRepeatable},
		{"no answer", "seq set orders 5", nil, cli.ExitFailed},
		{"a method of a later version", "status", status.Error(codes.Unimplemented, "unknown method"), cli.ExitFailed},
	} {
		t.Run(tc.name+" "+tc.line, func(t *testing.T) {
			t.Parallel()
			f, timeout := clitest.NewAPI(t), "5s"
			if tc.err == nil {
				timeout = "3s"
			}
			f.Before(func(ctx context.Context) error {
				if tc.err == nil {
					<-ctx.Done()
					return ctx.Err()
				}
				return tc.err
			})
			_, stderr, code := command(t, append(strings.Fields(tc.line), "--addr", f.Address, "--timeout", timeout)...)
			if code != tc.want || tc.err == nil && stderr != "snowraft: no answer in time\n" {
				t.Errorf("exit code %d, want %d; %s", code, tc.want, stderr)
			}
		})
	}
	for _, line := range []string{"id", "seq set orders 5", "member remove b", leave} {
		if _, _, code := command(t, append(strings.Fields(line), "--addr", clitest.DeadAddress)...); code != cli.ExitRepeatable {
			t.Errorf("no connection, %s: exit code %d, want %d", line, code, cli.ExitRepeatable)
		}
	}
}

func TestExitCodeOfLeaderShowWithoutALeader(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Leaderless = true
	_, stderr, code := command(t, "leader", "get", "-o", "json", "--addr", f.Address, "--timeout", "2s")
	if code != cli.ExitRepeatable || !strings.Contains(stderr, `"reason":"NO_LEADER"`) || !strings.Contains(stderr, "b does not answer (timed out)") {
		t.Errorf("exit code %d, want %d; %s", code, cli.ExitRepeatable, stderr)
	}
}
