package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// fakeAPI answers with the values that a test has prepared, and records the requests.
type fakeAPI struct {
	snowraftv1.UnimplementedIdServiceServer
	snowraftv1.UnimplementedLayoutServiceServer
	snowraftv1.UnimplementedWorkerServiceServer
	snowraftv1.UnimplementedClusterServiceServer
	snowraftv1.UnimplementedSequenceServiceServer
	snowraftv1.UnimplementedTokenServiceServer
	snowraftv1.UnimplementedOperationsServiceServer
	snowraftv1.UnimplementedViewServiceServer

	address    string
	stop       func()
	unreached  []string // members that changes of sequences and the configuration did not reach
	leaderless bool
	short      bool        // answers with fewer numbers than requested
	files      [][2]string // name and content of each file of a debug archive

	mu     sync.Mutex
	before func(context.Context) error
	calls  []any // requests
	next   int64
	given  int64 // number of issued numbers of sequences
}

// newFakeAPI serves a fake on a free port of the loopback interface.
func newFakeAPI(t *testing.T, opts ...grpc.ServerOption) *fakeAPI {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeAPI{address: l.Addr().String(), next: 249709288400883713}
	s := grpc.NewServer(append(opts, grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		f.mu.Lock()
		f.calls = append(f.calls, req)
		before := f.before
		f.mu.Unlock()
		if before != nil {
			if err := before(ctx); err != nil {
				return nil, err
			}
		}
		return handle(ctx, req)
	}))...)
	snowraftv1.RegisterIdServiceServer(s, f)
	snowraftv1.RegisterLayoutServiceServer(s, f)
	snowraftv1.RegisterWorkerServiceServer(s, f)
	snowraftv1.RegisterClusterServiceServer(s, f)
	snowraftv1.RegisterSequenceServiceServer(s, f)
	snowraftv1.RegisterTokenServiceServer(s, f)
	snowraftv1.RegisterOperationsServiceServer(s, f)
	snowraftv1.RegisterViewServiceServer(s, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	f.stop = sync.OnceFunc(func() {
		s.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Error(err)
		}
	})
	t.Cleanup(f.stop)
	return f
}

// first sets a function that runs before each answer. Its error becomes the answer.
func (f *fakeAPI) first(before func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// asked returns the requests so far.
func (f *fakeAPI) asked() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]any(nil), f.calls...)
}

func (f *fakeAPI) GenerateIds(_ context.Context, r *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	resp := &snowraftv1.GenerateIdsResponse{}
	for left := int64(r.GetCount()); left > 0; {
		n := min(left, 1000)
		if r.GetPacked() {
			for i := range n {
				resp.Ids = append(resp.Ids, f.next+i)
			}
		} else {
			resp.Ranges = append(resp.Ranges, &snowraftv1.IdRange{First: f.next, Count: uint32(n), Step: 1})
		}
		f.next += n + 7
		left -= n
	}
	return resp, nil
}

func (f *fakeAPI) GenerateUuids(_ context.Context, r *snowraftv1.GenerateUuidsRequest) (*snowraftv1.GenerateUuidsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	resp := &snowraftv1.GenerateUuidsResponse{}
	tag := snowflake.NewUUIDTag("c-1", r.GetLayout())
	for range r.GetCount() {
		u, err := snowflake.Default().UUID(uint64(f.next), tag)
		if err != nil {
			return nil, err
		}
		resp.Uuids = append(resp.Uuids, u.String())
		f.next++
	}
	return resp, nil
}

func (f *fakeAPI) DecodeId(_ context.Context, r *snowraftv1.DecodeIdRequest) (*snowraftv1.DecodeIdResponse, error) {
	return &snowraftv1.DecodeIdResponse{
		Id: r.GetId(), Layout: r.GetLayout(), TickAtMs: 1792486938000, Tick: 56728938, Datacenter: 3, Worker: 1023, Sequence: 9,
	}, nil
}

var fakeGrant = &snowraftv1.WorkerGrant{
	Worker: 17, Holder: "a/0", Token: 1 << 60,
	FromTick: 56728938000, UntilTick: 56729538000, FromAtMs: 1792418538000, UntilAtMs: 1792419138000,
	State: snowraftv1.WorkerState_WORKER_STATE_EXPIRED,
}

func (f *fakeAPI) WhoIs(context.Context, *snowraftv1.WhoIsRequest) (*snowraftv1.WhoIsResponse, error) {
	return &snowraftv1.WhoIsResponse{Grant: fakeGrant}, nil
}

// ListWorkers returns two pages.
func (f *fakeAPI) ListWorkers(_ context.Context, r *snowraftv1.ListWorkersRequest) (*snowraftv1.ListWorkersResponse, error) {
	resp := &snowraftv1.ListWorkersResponse{Capacity: 1024, Used: 2}
	if r.GetPageToken() == "" {
		resp.NextPageToken = "more"
		resp.Workers = []*snowraftv1.WorkerGrant{fakeGrant}
		return resp, nil
	}
	resp.Workers = []*snowraftv1.WorkerGrant{{
		Worker: 18, Holder: "billing/b/0", HolderTokenId: 17, Token: 9, FromTick: 1, UntilTick: 2, FromAtMs: 1735689600001, UntilAtMs: 1735689600002,
		State: snowraftv1.WorkerState_WORKER_STATE_HELD,
	}}
	return resp, nil
}

var fakeLayout = &snowraftv1.Layout{
	Name: "orders",
	Fields: []*snowraftv1.Field{
		{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 39}, {Kind: snowraftv1.FieldKind_FIELD_KIND_DATACENTER, Bits: 2},
		{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 10}, {Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
	},
	UnitMs: 10, EpochAtMs: 1735689600000, Datacenter: 3, Spread: 16, ExhaustsAtMs: 7233247738880,
}

func (f *fakeAPI) CreateLayout(context.Context, *snowraftv1.CreateLayoutRequest) (*snowraftv1.CreateLayoutResponse, error) {
	return &snowraftv1.CreateLayoutResponse{Layout: fakeLayout}, nil
}

func (f *fakeAPI) GetLayout(context.Context, *snowraftv1.GetLayoutRequest) (*snowraftv1.GetLayoutResponse, error) {
	return &snowraftv1.GetLayoutResponse{Layout: fakeLayout}, nil
}

func (f *fakeAPI) ListLayouts(context.Context, *snowraftv1.ListLayoutsRequest) (*snowraftv1.ListLayoutsResponse, error) {
	return &snowraftv1.ListLayoutsResponse{Layouts: []*snowraftv1.Layout{fakeLayout}}, nil
}

var fakeConfig = &snowraftv1.Config{
	MaxWindowMs: proto.Int64(600000), WaitThresholdMs: proto.Int64(1000), MaxClockOffsetMs: proto.Int64(500),
	Rollback: snowraftv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE.Enum(), RedisCreate: snowraftv1.AutoCreate_AUTO_CREATE_OFF.Enum(), Generation: 7,
	Upgrades: snowraftv1.Upgrades_UPGRADES_AUTO.Enum(),
}

func (f *fakeAPI) GetStatus(context.Context, *snowraftv1.GetStatusRequest) (*snowraftv1.GetStatusResponse, error) {
	if f.leaderless {
		return &snowraftv1.GetStatusResponse{NoLeader: "no leader for 12s: b does not answer (timed out); quorum needs 2 of 2 voters"}, nil
	}
	return &snowraftv1.GetStatusResponse{
		ClusterId: "c-1", MemberId: "n-1", Name: "a", LeaderId: "n-2", LeaderName: "b", Term: 7, CommitIndex: 1 << 60, AppliedIndex: 99,
		ObservedClockAtMs: 1792419138000, ClockAtMs: 1792419138123, ClockOffsetMs: -12, Version: "v1.2.3", FsmVersion: 1, FsmVersionSupported: 2, Upgrade: fakeUpgrade,
		Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER, Config: fakeConfig, Quorum: fakeQuorum,
		SecretFingerprints: []string{"fc8921786d643a5a", "0123456789abcdef"}, SigningFingerprint: "0123456789abcdef",
		ForeignPeers: []*snowraftv1.ForeignPeer{{Address: "10.0.0.9", Problem: "the peer does not encrypt", HeardAtMs: 1767225600123}},
		Lanes: []*snowraftv1.Lane{
			{Layout: "default", Worker: 5, Token: 42, FromTick: 56729538000, UntilTick: 56729540000, ServeUntilAtMs: 1792419540000, ExhaustsAtMs: 3934712855552},
			{Layout: "orders", Lane: 1, Problem: "all workers are held"},
		},
	}, nil
}

var fakeQuorum = &snowraftv1.Quorum{Voters: 3, Alive: 3, MayFail: 1}

var fakeMembers = []*snowraftv1.Member{
	{Id: "n-1", Name: "a", RaftAddress: "10.0.0.1:7702", ApiAddress: "10.0.0.1:7700", Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER, Leader: true, Alive: true, Version: "v1.2.3", FsmVersionSupported: 2,
		SecretFingerprints: []string{"fc8921786d643a5a", "0123456789abcdef"}},
	{Id: "n-2", Name: "b", RaftAddress: "10.0.0.2:7702", ApiAddress: "10.0.0.2:7700", Role: snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER, ClockOffsetMs: -3, NotAliveSinceAtMs: 1767225600123, Version: "v1.2.2", SecretFingerprints: []string{"0123456789abcdef"}},
}

var fakeUpgrade = &snowraftv1.Upgrade{
	FsmVersion: 1, NextFsmVersion: 2, Upgrades: snowraftv1.Upgrades_UPGRADES_AUTO,
	Blockers: []*snowraftv1.UpgradeBlocker{{MemberId: "n-2", MemberName: "b", Problem: "is not alive"}},
}

func (f *fakeAPI) GetUpgrade(context.Context, *snowraftv1.GetUpgradeRequest) (*snowraftv1.GetUpgradeResponse, error) {
	return &snowraftv1.GetUpgradeResponse{Upgrade: fakeUpgrade, Members: fakeMembers}, nil
}

func (f *fakeAPI) FinalizeUpgrade(_ context.Context, r *snowraftv1.FinalizeUpgradeRequest) (*snowraftv1.FinalizeUpgradeResponse, error) {
	return &snowraftv1.FinalizeUpgradeResponse{From: 1, To: 1 + uint32(len(r.GetWithout()))}, nil
}

func (f *fakeAPI) ListMembers(context.Context, *snowraftv1.ListMembersRequest) (*snowraftv1.ListMembersResponse, error) {
	return &snowraftv1.ListMembersResponse{Members: fakeMembers, Quorum: fakeQuorum}, nil
}

func (f *fakeAPI) AddMember(context.Context, *snowraftv1.AddMemberRequest) (*snowraftv1.AddMemberResponse, error) {
	return &snowraftv1.AddMemberResponse{Member: fakeMembers[1]}, nil
}

func (f *fakeAPI) RemoveMember(context.Context, *snowraftv1.RemoveMemberRequest) (*snowraftv1.RemoveMemberResponse, error) {
	return &snowraftv1.RemoveMemberResponse{Member: fakeMembers[1]}, nil
}

func (f *fakeAPI) TransferLeadership(context.Context, *snowraftv1.TransferLeadershipRequest) (*snowraftv1.TransferLeadershipResponse, error) {
	return &snowraftv1.TransferLeadershipResponse{LeaderId: "n-2", LeaderName: "b"}, nil
}

func (f *fakeAPI) Leave(context.Context, *snowraftv1.LeaveRequest) (*snowraftv1.LeaveResponse, error) {
	return &snowraftv1.LeaveResponse{}, nil
}

func (f *fakeAPI) GetConfig(context.Context, *snowraftv1.GetConfigRequest) (*snowraftv1.GetConfigResponse, error) {
	return &snowraftv1.GetConfigResponse{Config: fakeConfig}, nil
}

func (f *fakeAPI) UpdateConfig(context.Context, *snowraftv1.UpdateConfigRequest) (*snowraftv1.UpdateConfigResponse, error) {
	return &snowraftv1.UpdateConfigResponse{Config: fakeConfig, UnreachedMembers: f.unreached}, nil
}

func (f *fakeAPI) ResetObservedClock(context.Context, *snowraftv1.ResetObservedClockRequest) (*snowraftv1.ResetObservedClockResponse, error) {
	return &snowraftv1.ResetObservedClockResponse{ObservedClockAtMs: 1792419138000}, nil
}

// refuse returns an error without details.
func refuse(code codes.Code, message string) error { return status.Error(code, message) }
