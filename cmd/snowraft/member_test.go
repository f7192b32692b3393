package main

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestLeaveNeedsOneAddress(t *testing.T) {
	t.Parallel()
	f, other := clitest.NewAPI(t), clitest.NewAPI(t)
	if _, _, code := command(t, "member", "leave", "--addr", f.Address+","+other.Address); code != cli.ExitUsage {
		t.Errorf("exit code %d, want %d", code, cli.ExitUsage)
	}
	if len(f.Requests())+len(other.Requests()) != 0 {
		t.Error("a member got a request to leave")
	}
}

func TestRemoveRequestsNoForce(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	succeeds(t, "member", "remove", "c", "--addr", f.Address)
	want := &snowraftv1.RemoveMemberRequest{Member: "c"}
	if asked := f.Requests(); len(asked) != 2 || !proto.Equal(asked[1].(proto.Message), want) {
		t.Errorf("requests %v, want %v after the list of members", asked, want)
	}
}

// A removed member stops without releasing anything, so the removal of a live one suggests that it leaves.
func TestRemoveSuggestsThatALiveMemberLeaves(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	for name, want := range map[string]string{
		"a":   "snowraft: warning: a is alive; to release its workers and return its numbers, use \"snowraft member leave --addr 10.0.0.1:7700\" instead\n",
		"n-1": "snowraft: warning: a is alive; to release its workers and return its numbers, use \"snowraft member leave --addr 10.0.0.1:7700\" instead\n",
		"b":   "", // does not answer
	} {
		if _, stderr, code := command(t, "member", "remove", name, "--addr", f.Address); code != cli.ExitDone || stderr != want {
			t.Errorf("remove %s: exit code %d, %q, want %q", name, code, stderr, want)
		}
	}
}

// A script may name the member by a variable that is not set.
func TestRemoveNeedsAName(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	_, stderr, code := command(t, "member", "remove", "", "--addr", f.Address)
	if code != cli.ExitUsage || len(f.Requests()) != 0 {
		t.Errorf("exit code %d, %d requests: %s", code, len(f.Requests()), stderr)
	}
}

func TestRemoveIfExistsTakesOnlyAnUnknownMemberForDone(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	remove := []string{"member", "remove", "c", "--addr", f.Address}
	f.Refuse(&rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownMember, Message: "no such member"})
	if _, _, code := command(t, remove...); code != cli.ExitFailed {
		t.Errorf("without --if-exists: exit code %d, want %d", code, cli.ExitFailed)
	}
	f.Refuse(&rpc.Error{Code: codes.NotFound, Reason: rpc.UnknownMember, Message: "no such member"})
	if out, want := succeeds(t, append(remove, "--if-exists")...), "no member \"c\"; nothing to remove\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	f.Refuse(&rpc.Error{Code: codes.FailedPrecondition, Reason: rpc.QuorumAtRisk, Message: "one of two"})
	if _, _, code := command(t, append(remove, "--if-exists")...); code != cli.ExitFailed {
		t.Errorf("quorum at risk: exit code %d, want %d", code, cli.ExitFailed)
	}
	// A member whose name is not known yet may have the name.
	f.Refuse(&rpc.Error{Code: codes.Unavailable, Reason: rpc.NamesIncomplete, Message: "any of two"})
	if _, _, code := command(t, append(remove, "--if-exists", "--timeout", "100ms")...); code == cli.ExitDone {
		t.Error("names incomplete: exit code 0, want a failure")
	}
}
