package clitest

import (
	"context"
	"errors"
	"net"
	"path"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// API is a fake member. It answers with the values that a test has prepared, and records the requests.
type API struct {
	snowraftv1.UnimplementedIdServiceServer
	snowraftv1.UnimplementedLayoutServiceServer
	snowraftv1.UnimplementedBackfillServiceServer
	snowraftv1.UnimplementedWorkerServiceServer
	snowraftv1.UnimplementedClusterServiceServer
	snowraftv1.UnimplementedSequenceServiceServer
	snowraftv1.UnimplementedReservationServiceServer
	snowraftv1.UnimplementedTemplateServiceServer
	snowraftv1.UnimplementedTokenServiceServer
	snowraftv1.UnimplementedOperationsServiceServer
	snowraftv1.UnimplementedViewServiceServer

	Address    string
	Unreached  []string // members that changes of sequences and the configuration did not reach
	Leaderless bool
	Short      bool        // answers with fewer numbers than requested
	Files      [][2]string // name and content of each file of a debug archive

	mu     sync.Mutex
	before func(context.Context) error
	calls  []any // requests
	next   int64
	given  int64 // number of issued numbers of sequences
}

// firstID is the first ID that a fake issues.
const firstID = 249709288400883713

// NewAPI serves a fake on a free port of the loopback interface.
func NewAPI(t *testing.T, opts ...grpc.ServerOption) *API {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", cli.Localhost+":0")
	if err != nil {
		t.Fatal(err)
	}
	f := &API{Address: l.Addr().String(), next: firstID}
	s := grpc.NewServer(append(opts, grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		f.mu.Lock()
		f.calls = append(f.calls, req)
		before := f.before
		f.mu.Unlock()
		if before != nil {
			if err := before(ctx); err != nil {
				return nil, err
			}
		}
		if answer, ok := answers[path.Base(info.FullMethod)]; ok {
			answer = proto.Clone(answer)
			f.addUnreached(answer)
			return answer, nil
		}
		return handle(ctx, req)
	}))...)
	snowraftv1.RegisterIdServiceServer(s, f)
	snowraftv1.RegisterLayoutServiceServer(s, f)
	snowraftv1.RegisterBackfillServiceServer(s, f)
	snowraftv1.RegisterWorkerServiceServer(s, f)
	snowraftv1.RegisterClusterServiceServer(s, f)
	snowraftv1.RegisterSequenceServiceServer(s, f)
	snowraftv1.RegisterReservationServiceServer(s, f)
	snowraftv1.RegisterTemplateServiceServer(s, f)
	snowraftv1.RegisterTokenServiceServer(s, f)
	snowraftv1.RegisterOperationsServiceServer(s, f)
	snowraftv1.RegisterViewServiceServer(s, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Error(err)
		}
	})
	return f
}

// Before sets a function that runs before each answer. Its error becomes the answer.
func (f *API) Before(before func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// Refuse makes the fake answer every call with e.
func (f *API) Refuse(e *rpc.Error) {
	f.Before(func(context.Context) error { return e })
}

// Requests returns the requests so far.
func (f *API) Requests() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Rewind makes the fake issue IDs again: those of the last n calls for one ID.
func (f *API) Rewind(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next -= n * (1 + gap)
}

// Restart makes the fake issue its first IDs and numbers again.
func (f *API) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next, f.given = firstID, 0
}

// gap is the number of IDs that the fake skips after each range.
const gap = 7

func (f *API) GenerateIds(_ context.Context, r *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
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
		f.next += n + gap
		left -= n
	}
	return resp, nil
}

func (f *API) GenerateUuids(_ context.Context, r *snowraftv1.GenerateUuidsRequest) (*snowraftv1.GenerateUuidsResponse, error) {
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

func (f *API) DecodeId(_ context.Context, r *snowraftv1.DecodeIdRequest) (*snowraftv1.DecodeIdResponse, error) {
	return &snowraftv1.DecodeIdResponse{
		Id: r.GetId(), Layout: r.GetLayout(), TickAtMs: 1792486938000, Tick: 56728938, Datacenter: 3, Worker: 1023, Sequence: 9,
	}, nil
}

var grant = &snowraftv1.WorkerGrant{
	Worker: 17, Holder: "a/0", Token: 1 << 60,
	FromTick: 56728938000, UntilTick: 56729538000, FromAtMs: 1792418538000, UntilAtMs: 1792419138000,
	State: snowraftv1.WorkerState_WORKER_STATE_EXPIRED,
}

// ListWorkers returns two pages.
func (f *API) ListWorkers(_ context.Context, r *snowraftv1.ListWorkersRequest) (*snowraftv1.ListWorkersResponse, error) {
	resp := &snowraftv1.ListWorkersResponse{Capacity: 1024, Used: 2}
	if r.GetPageToken() == "" {
		resp.NextPageToken = "more"
		resp.Workers = []*snowraftv1.WorkerGrant{grant}
		return resp, nil
	}
	resp.Workers = []*snowraftv1.WorkerGrant{{
		Worker: 18, Holder: "billing/b/0", HolderTokenId: 17, Token: 9,
		Process:  &snowraftv1.HolderProcess{Host: "web-1", ProcessId: "812", Kind: "worker run", Version: "1.4.0"},
		FromTick: 1, UntilTick: 2, FromAtMs: 1735689600001, UntilAtMs: 1735689600002,
		State: snowraftv1.WorkerState_WORKER_STATE_HELD,
	}}
	return resp, nil
}

// Layout is the layout of the fake cluster.
var Layout = &snowraftv1.Layout{
	Name: "orders",
	Fields: []*snowraftv1.Field{
		{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 39}, {Kind: snowraftv1.FieldKind_FIELD_KIND_DATACENTER, Bits: 2},
		{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 10}, {Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
	},
	UnitMs: 10, EpochAtMs: 1735689600000, Datacenter: 3, Spread: 1024, ExhaustsAtMs: 7233247738880,
}

var config = &snowraftv1.Config{
	MaxWindowMs: proto.Int64(600000), WaitThresholdMs: proto.Int64(1000), MaxClockOffsetMs: proto.Int64(500),
	Rollback: snowraftv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE.Enum(), RedisCreate: snowraftv1.AutoCreate_AUTO_CREATE_OFF.Enum(), Generation: 7,
	Upgrades: snowraftv1.Upgrades_UPGRADES_AUTO.Enum(), TokenWorkersPercent: proto.Int32(50),
}

func (f *API) GetStatus(_ context.Context, req *snowraftv1.GetStatusRequest) (*snowraftv1.GetStatusResponse, error) {
	if f.Leaderless {
		return &snowraftv1.GetStatusResponse{NoLeader: "no leader for 12s: b does not answer (timed out); quorum needs 2 of 2 voters"}, nil
	}
	var uses []*snowraftv1.TokenUse
	if req.GetUses() {
		uses = tokenUses
	}
	return &snowraftv1.GetStatusResponse{
		Uses: uses, ClusterId: "c-1", MemberId: "n-1", Name: "a", LeaderId: "n-2", LeaderName: "b", Term: 7, CommitIndex: 1 << 60, AppliedIndex: 99,
		ObservedClockAtMs: 1792419138000, ClockAtMs: 1792419138123, ClockOffsetMs: -12, Version: "v1.2.3", FsmVersion: 1, FsmVersionSupported: 2, Upgrade: upgrade,
		Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER, Config: config, Quorum: quorum,
		SecretFingerprints: []string{"fc8921786d643a5a", "0123456789abcdef"}, SigningFingerprint: "0123456789abcdef",
		CustomCertificate: &snowraftv1.CustomCertificate{ExpiresAtMs: 1799107200000, Problem: `certificate "tls/cert.pem": valid only from 2025-12-01T00:00:00Z to 2026-03-01T00:00:00Z`},
		AddressProblem:    "other members gossip with 10.0.0.1, and a.example.net now has the address 10.0.0.2",
		SetBackSuspected:  "c contradicts the history: index 7 differs",
		ForeignPeers:      []*snowraftv1.ForeignPeer{{Address: "10.0.0.9", Problem: "the peer does not encrypt", HeardAtMs: 1767225600123}},
		Lanes: []*snowraftv1.Lane{
			{Layout: "default", Worker: 5, Token: 42, FromTick: 56729538000, UntilTick: 56729540000, ServeUntilAtMs: 1792419540000, ExhaustsAtMs: 3934712855552},
			{Layout: "orders", Lane: 1, Problem: "all workers are held"},
		},
	}, nil
}

var quorum = &snowraftv1.Quorum{Voters: 3, Alive: 3, MayFail: 1}

var members = []*snowraftv1.Member{
	{Id: "n-1", Name: "a", RaftAddress: "10.0.0.1:7702", ApiAddress: "10.0.0.1:7700", Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER, Leader: true, Alive: true, Version: "v1.2.3", FsmVersionSupported: 2,
		SecretFingerprints: []string{"fc8921786d643a5a", "0123456789abcdef"}},
	{Id: "n-2", Name: "b", RaftAddress: "10.0.0.2:7702", ApiAddress: "10.0.0.2:7700", Role: snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER, ClockOffsetMs: -3, NotAliveSinceAtMs: 1767225600123, Version: "v1.2.2", SecretFingerprints: []string{"0123456789abcdef"}},
}

var upgrade = &snowraftv1.Upgrade{
	FsmVersion: 1, NextFsmVersion: 2, Upgrades: snowraftv1.Upgrades_UPGRADES_AUTO,
	Blockers: []*snowraftv1.UpgradeBlocker{{MemberId: "n-2", MemberName: "b", Problem: "is not alive"}},
}

func (f *API) FinalizeUpgrade(_ context.Context, r *snowraftv1.FinalizeUpgradeRequest) (*snowraftv1.FinalizeUpgradeResponse, error) {
	return &snowraftv1.FinalizeUpgradeResponse{From: 1, To: 1 + uint32(len(r.GetWithout()))}, nil
}
