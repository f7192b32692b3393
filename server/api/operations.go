package api

import (
	"bufio"
	"cmp"
	"context"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/position"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

type operations struct {
	snowraftv1.UnimplementedOperationsServiceServer
	*Services
}

// pieceBytes is the number of bytes of a backup per message. It is so small that the memory of answers does not count it.
const pieceBytes = 60 << 10

// Backup implements snowraftv1.OperationsServiceServer.
func (o *operations) Backup(req *snowraftv1.BackupRequest, stream grpc.ServerStreamingServer[snowraftv1.BackupResponse]) error {
	source := commandv1.BackupSource_BACKUP_SOURCE_STALE
	if !req.GetStale() {
		if err := o.catchUp(stream.Context()); err != nil {
			return err
		}
		source = commandv1.BackupSource_BACKUP_SOURCE_MEMBER
	}
	header, state, err := o.capture(source)
	if err != nil {
		return err
	}
	pieces := bufio.NewWriterSize(sender{stream}, pieceBytes)
	if err := backup.Write(pieces, header, state); err != nil {
		return err
	}
	if err := pieces.Flush(); err != nil {
		return err
	}
	o.backup.Store(header.GetTakenAtMs())
	return nil
}

// catchUp waits until this member has applied every command that was acknowledged before the call.
func (o *operations) catchUp(ctx context.Context) error {
	resp, err := lead(ctx, o.Services, peerv1.PeerService_ReadIndex_FullMethodName, &peerv1.ReadIndexRequest{}, (&peerService{Services: o.Services}).ReadIndex)
	if err != nil {
		return err
	}
	return o.Member.State().AwaitApplied(ctx, resp.GetIndex())
}

// CaptureLeading returns the state of this member with every change that was acknowledged before the call, and the header of a
// backup of the state. It fails unless a quorum confirms that this member leads.
func (s *Services) CaptureLeading(ctx context.Context) (*commandv1.BackupHeader, *fsm.Capture, error) {
	index, err := s.Member.ReadIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Member.State().AwaitApplied(ctx, index); err != nil {
		return nil, nil, err
	}
	return s.capture(commandv1.BackupSource_BACKUP_SOURCE_MEMBER)
}

// capture returns the state of this member, and the header of a backup of the state.
func (s *Services) capture(source commandv1.BackupSource) (*commandv1.BackupHeader, *fsm.Capture, error) {
	m, node := s.Member, s.Member.Node()
	if node.ClusterID() == "" {
		return nil, nil, member.ErrNoLeader
	}
	index := node.AppliedIndex() // read before the state, which may be newer
	state, err := m.State().Capture()
	if err != nil {
		return nil, nil, err
	}
	config := m.State().ConfigValue()
	header := &commandv1.BackupHeader{
		ClusterId: node.ClusterID(), Index: max(index, state.Index), Term: cmp.Or(state.Term, node.Term()), TakenAtMs: m.Clock().Now().Wall,
		MaxWindowMs: config.GetMaxWindowMs(), MaxClockOffsetMs: config.GetMaxClockOffsetMs(),
		Source: source, MemberId: node.ID(), MemberName: s.Name,
	}
	for _, p := range node.Members() {
		header.Members = append(header.Members, &commandv1.BackupMember{
			Id: p.ID, Name: p.Name, RaftAddress: p.Address, ApiAddress: p.API, Voter: p.Voter,
		})
	}
	return header, state, nil
}

// sender is a writer that sends all bytes over a stream.
type sender struct {
	stream grpc.ServerStreamingServer[snowraftv1.BackupResponse]
}

func (s sender) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceBytes)
		if err := s.stream.Send(&snowraftv1.BackupResponse{Data: rest[:n]}); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// SealCluster implements snowraftv1.OperationsServiceServer.
func (o *operations) SealCluster(ctx context.Context, _ *snowraftv1.SealClusterRequest) (*snowraftv1.SealClusterResponse, error) {
	if err := o.Member.Seal(ctx, nil, "", "an operator sealed it"); err != nil {
		return nil, err
	}
	sealed := o.sealed()
	return &snowraftv1.SealClusterResponse{Sealed: sealed, UnreachedMembers: o.spread(ctx, sealed.GetIndex())}, nil
}

// sealed returns the record of the seal from this member's replica; nil if the cluster is not sealed.
func (s *Services) sealed() *snowraftv1.Sealed {
	sealed := s.Member.State().Sealed()
	if sealed == nil {
		return nil
	}
	evidence, _ := position.Parse(sealed.GetEvidence()) // empty if an operator sealed the cluster
	return &snowraftv1.Sealed{
		Reason: sealed.GetReason(), Witness: sealed.GetWitness(), Index: sealed.GetIndex(), SealedAtMs: sealed.GetSealedAtMs(),
		EvidenceIndex: evidence.Index,
	}
}
