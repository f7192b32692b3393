package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/cluster/peer"
)

var (
	// ErrUnknownOutcome reports that a proposal may or may not be committed, now or later.
	ErrUnknownOutcome = errors.New("the outcome of the proposal is unknown")
	// ErrClosed reports that the node was closed, or that it halted and is about to be closed; it then wraps the failure too.
	ErrClosed = errors.New("this member is shutting down")
	// ErrSuperseded reports that an operator of a later life of this cluster, or of a sibling, ended this cluster.
	ErrSuperseded = errors.New("this cluster was superseded")
	// ErrSecured reports that the node was started without a secret although it had a cluster secret at an earlier start.
	ErrSecured = errors.New("the data directory belongs to a secured member; set --secret-file, or --insecure to let every process that reaches a port command the member")
	// ErrNameTaken reports that a node was not added because a member has its name.
	ErrNameTaken = errors.New("the member's name is taken")
	// ErrTooOld reports that a node was not added because its program does not know the commands that the cluster uses.
	ErrTooOld = errors.New("the member's program is too old")
	// ErrUnknownMember reports that no member has this ID or name.
	ErrUnknownMember = errors.New("no such member")
	// ErrQuorum reports that a change of membership was refused because no majority of the voters would be alive after it.
	ErrQuorum = errors.New("too few live voters would remain")
	// ErrAmbiguousMember reports that a name belongs to several members.
	ErrAmbiguousMember = errors.New("several members have this name")
	// ErrNamesUnknown reports that a name may belong to a member whose name is not known yet.
	ErrNamesUnknown = errors.New("not all members' names are known yet")
	// ErrNoSuccessor reports that no voter can take over leadership.
	ErrNoSuccessor = errors.New("no other voter can become the leader")
	// ErrOwnAddress reports that a node was requested to contact itself. Its reason in the API is INVALID_ARGUMENT.
	ErrOwnAddress = errors.New("gossip address of the answering member")
	// ErrNotAlive reports that gossip does not reach a node.
	ErrNotAlive = errors.New("the member is not alive")
)

// Errors of the parts of a node.
var (
	ErrNotLeader         = leadership.ErrNotLeader
	ErrRemoved           = peer.ErrRemoved
	ErrDuplicate         = peer.ErrDuplicate
	ErrMemberUnreachable = peer.ErrUnreachable
	ErrOtherCluster      = peer.ErrOtherCluster
)

// StalledError reports that the disk of a leader has not finished a write for a long time.
type StalledError struct {
	Dir   string        // data directory
	Lasts time.Duration // time since the write began
}

func (e *StalledError) Error() string {
	return fmt.Sprintf("the disk under %s has not finished a write for %v, leader halted; "+
		"check the disk, then start the member again", e.Dir, e.Lasts.Round(time.Second))
}

// proposalError wraps an error of raft with ErrNotLeader if the entry was certainly not appended, and with ErrUnknownOutcome
// otherwise.
func proposalError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrLeadershipTransferInProgress),
		errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	default:
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
}
