package cluster

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

var (
	// ErrNotLeader says that this node can't do it because it does not lead, or
	// not yet. Nothing was appended: trying again elsewhere is safe.
	ErrNotLeader = errors.New("this member is not the leader")
	// ErrUnknownOutcome says that a proposal may or may not be committed, now or later.
	ErrUnknownOutcome = errors.New("the outcome of the proposal is unknown")
	// ErrClosed says that the node was closed.
	ErrClosed = errors.New("this member is shutting down")
	// ErrRemoved says that this node was removed from its cluster.
	ErrRemoved = errors.New("this member was removed from the cluster: empty its data directory to let it join again as a new member")
	// ErrUnknownMember says that no member has this ID or name.
	ErrUnknownMember = errors.New("no such member")
	// ErrQuorum says that a change of membership was refused because it would leave no working majority.
	ErrQuorum = errors.New("refused: too few live voters would remain")
	// ErrAmbiguousMember says that a name does not tell which member is meant.
	ErrAmbiguousMember = errors.New("that name does not say which member is meant: use its ID")
	// ErrNamesUnknown says that it is not known yet which member has a name.
	ErrNamesUnknown = errors.New("not all members' names are known yet")
	// ErrNoSuccessor says that there is nobody to hand leadership to.
	ErrNoSuccessor = errors.New("there is no other voter to hand leadership to")
	// ErrUnreachable says that a node can't be contacted.
	ErrUnreachable = errors.New("that member can't be contacted")
	// ErrOtherCluster says that a peer belongs to another cluster.
	ErrOtherCluster = errors.New("that member belongs to another cluster")
)

// CorruptError says that something on disk is not what was written there.
type CorruptError struct {
	// Path of the damaged file or directory.
	Path string
	// What exactly is wrong.
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged (%s): this member must not go on with it. "+
		"Check the disk, move the data directory away, and start again with an empty one: "+
		"the member then joins as a new one and gets the state from the others. "+
		"Remove the old member with 'snowraft member remove'", e.Path, e.Reason)
}

// DiskError says that something could not be written, or not read.
type DiskError struct {
	Path string
	Err  error
	// Reading says that it could not be read; what is there may be sound.
	Reading bool
}

func (e *DiskError) Error() string {
	if e.Reading {
		return fmt.Sprintf("reading %s failed (%v): this member must not go on without it. "+
			"Check the disk for errors, then start the member again", e.Path, e.Err)
	}
	return fmt.Sprintf("writing %s failed (%v): what is on disk is not known, so this member must not go on. "+
		"Check the disk for space and errors, then start the member again", e.Path, e.Err)
}

func (e *DiskError) Unwrap() error { return e.Err }

// readError is what it means that a store can't be read.
func readError(path string, err error) error {
	if _, ok := errors.AsType[*CorruptError](err); ok {
		return err
	}
	if pages, ok := errors.AsType[*brokenPages](err); ok && !pages.unreadable {
		return &CorruptError{Path: path, Reason: pages.reason}
	}
	return &DiskError{Path: path, Err: err, Reading: true}
}

// proposalError sorts raft's errors by the only question that matters: can the entry have been appended?
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
