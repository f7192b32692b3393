package cluster

import (
	"errors"
	"io"
	"testing"

	"github.com/hashicorp/raft"
)

func TestProposalErrors(t *testing.T) {
	for _, never := range []error{raft.ErrNotLeader, raft.ErrLeadershipTransferInProgress, raft.ErrEnqueueTimeout} {
		if err := proposalError(never); !errors.Is(err, ErrNotLeader) || errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, never) {
			t.Errorf("%v became %v", never, err)
		}
	}
	for _, unknown := range []error{raft.ErrLeadershipLost, raft.ErrRaftShutdown, raft.ErrAbortedByRestore, io.EOF} {
		if err := proposalError(unknown); !errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrNotLeader) {
			t.Errorf("%v became %v", unknown, err)
		}
	}
	if proposalError(nil) != nil {
		t.Error("nil became an error")
	}
}
