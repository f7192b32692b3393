package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// reads lists the calls that change nothing.
var reads = []string{
	snowraftv1.IdService_DecodeId_FullMethodName, snowraftv1.IdService_WhoIs_FullMethodName,
	snowraftv1.SequenceService_GetLast_FullMethodName, snowraftv1.SequenceService_GetSequence_FullMethodName,
	snowraftv1.SequenceService_ListSequences_FullMethodName, snowraftv1.SequenceService_DecodeText_FullMethodName,
	snowraftv1.LayoutService_GetLayout_FullMethodName, snowraftv1.LayoutService_ListLayouts_FullMethodName,
	snowraftv1.WorkerService_ListWorkers_FullMethodName,
	snowraftv1.ClusterService_GetStatus_FullMethodName, snowraftv1.ClusterService_ListMembers_FullMethodName,
	snowraftv1.ClusterService_GetConfig_FullMethodName,
	snowraftv1.SequenceService_ListFrozenSequences_FullMethodName,
	snowraftv1.BackfillService_ListBackfills_FullMethodName, snowraftv1.ReservationService_ListReservations_FullMethodName, snowraftv1.ReservationService_AuditPeriod_FullMethodName, snowraftv1.ReservationService_ListPeriods_FullMethodName,
	snowraftv1.TemplateService_GetTemplate_FullMethodName, snowraftv1.TemplateService_ListTemplates_FullMethodName,
	snowraftv1.TokenService_GetToken_FullMethodName, snowraftv1.TokenService_ListTokens_FullMethodName,
	snowraftv1.TokenService_VerifyToken_FullMethodName,
	snowraftv1.OperationsService_Backup_FullMethodName, snowraftv1.OperationsService_Debug_FullMethodName,
	snowraftv1.OperationsService_GetUpgrade_FullMethodName,
	snowraftv1.ViewService_GetOverview_FullMethodName, snowraftv1.ViewService_ListEvents_FullMethodName,
	snowraftv1.ViewService_ListSequenceViews_FullMethodName, snowraftv1.ViewService_WatchOverview_FullMethodName,
}

// The second table of "Errors and retries" in docs/grpc.md: what is tried again when it is not known
// whether it was done.
func TestUnknownOutcomes(t *testing.T) {
	type request struct {
		method string
		req    any
		again  bool
	}
	all := []request{
		{snowraftv1.IdService_GenerateIds_FullMethodName, &snowraftv1.GenerateIdsRequest{}, true},
		{snowraftv1.IdService_GenerateUuids_FullMethodName, &snowraftv1.GenerateUuidsRequest{}, true},
		{snowraftv1.SequenceService_NextNumbers_FullMethodName, &snowraftv1.NextNumbersRequest{}, true},
		{snowraftv1.LayoutService_CreateLayout_FullMethodName, &snowraftv1.CreateLayoutRequest{}, true},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, &snowraftv1.CreateSequenceRequest{}, true},
		{snowraftv1.ClusterService_UpdateConfig_FullMethodName, &snowraftv1.UpdateConfigRequest{}, false},
		{snowraftv1.ClusterService_AddMember_FullMethodName, &snowraftv1.AddMemberRequest{}, true},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, &snowraftv1.CreateSequenceRequest{Force: true}, false},
		{snowraftv1.SequenceService_UpdateSequence_FullMethodName, &snowraftv1.UpdateSequenceRequest{}, false},
		{snowraftv1.SequenceService_DeleteSequence_FullMethodName, &snowraftv1.DeleteSequenceRequest{}, false},
		{snowraftv1.SequenceService_SetNext_FullMethodName, &snowraftv1.SetNextRequest{}, false},
		{snowraftv1.ClusterService_RemoveMember_FullMethodName, &snowraftv1.RemoveMemberRequest{}, false},
		{snowraftv1.ClusterService_Leave_FullMethodName, &snowraftv1.LeaveRequest{}, false},
		{snowraftv1.ClusterService_TransferLeadership_FullMethodName, &snowraftv1.TransferLeadershipRequest{}, false},
		{snowraftv1.ClusterService_ResetObservedClock_FullMethodName, &snowraftv1.ResetObservedClockRequest{}, false},
		{snowraftv1.WorkerService_AcquireWorker_FullMethodName, &snowraftv1.AcquireWorkerRequest{}, false},
		{snowraftv1.SequenceService_AllocateBlock_FullMethodName, &snowraftv1.AllocateBlockRequest{}, true},
		{snowraftv1.WorkerService_ExtendWindow_FullMethodName, &snowraftv1.ExtendWindowRequest{}, false},
		{snowraftv1.WorkerService_ReleaseWorker_FullMethodName, &snowraftv1.ReleaseWorkerRequest{}, false},
		{snowraftv1.SequenceService_ReturnBlock_FullMethodName, &snowraftv1.ReturnBlockRequest{}, false},
		{snowraftv1.SequenceService_ResumeSequence_FullMethodName, &snowraftv1.ResumeSequenceRequest{}, false},
		{snowraftv1.SequenceService_MoveSequence_FullMethodName, &snowraftv1.MoveSequenceRequest{}, false},
		{snowraftv1.TokenService_CreateToken_FullMethodName, &snowraftv1.CreateTokenRequest{}, false},
		{snowraftv1.TokenService_UpdateToken_FullMethodName, &snowraftv1.UpdateTokenRequest{}, false},
		{snowraftv1.TokenService_DeleteToken_FullMethodName, &snowraftv1.DeleteTokenRequest{}, false},
		{snowraftv1.OperationsService_SealCluster_FullMethodName, &snowraftv1.SealClusterRequest{}, true},
		{snowraftv1.OperationsService_AcknowledgeRestore_FullMethodName, &snowraftv1.AcknowledgeRestoreRequest{}, true},
		{snowraftv1.OperationsService_Supersede_FullMethodName, &snowraftv1.SupersedeRequest{}, true},
		{snowraftv1.OperationsService_FinalizeUpgrade_FullMethodName, &snowraftv1.FinalizeUpgradeRequest{}, true},
		{snowraftv1.IdService_StreamIds_FullMethodName, &snowraftv1.StreamIdsRequest{}, true},
		{snowraftv1.SequenceService_StreamNumbers_FullMethodName, &snowraftv1.StreamNumbersRequest{}, true},
		{snowraftv1.SequenceService_BeginSequence_FullMethodName, &snowraftv1.BeginSequenceRequest{}, true},
		{snowraftv1.TemplateService_CreateTemplate_FullMethodName, &snowraftv1.CreateTemplateRequest{}, true},
		{snowraftv1.TemplateService_ApplyTemplate_FullMethodName, &snowraftv1.ApplyTemplateRequest{}, true},
		{snowraftv1.TemplateService_UpdateTemplate_FullMethodName, &snowraftv1.UpdateTemplateRequest{}, false},
		{snowraftv1.TemplateService_DeleteTemplate_FullMethodName, &snowraftv1.DeleteTemplateRequest{}, false},
		{snowraftv1.TemplateService_ResumeTemplate_FullMethodName, &snowraftv1.ResumeTemplateRequest{}, false},
		{snowraftv1.BackfillService_StartBackfill_FullMethodName, &snowraftv1.StartBackfillRequest{}, false},
		{snowraftv1.BackfillService_BackfillIds_FullMethodName, &snowraftv1.BackfillIdsRequest{}, true},
		{snowraftv1.BackfillService_EndBackfill_FullMethodName, &snowraftv1.EndBackfillRequest{}, true},
		{snowraftv1.BackfillService_ResumeBackfills_FullMethodName, &snowraftv1.ResumeBackfillsRequest{}, false},
		{snowraftv1.ReservationService_ReserveNumbers_FullMethodName, &snowraftv1.ReserveNumbersRequest{}, true},
		{snowraftv1.ReservationService_ConfirmNumbers_FullMethodName, &snowraftv1.ConfirmNumbersRequest{}, true},
		{snowraftv1.ReservationService_VoidNumbers_FullMethodName, &snowraftv1.VoidNumbersRequest{}, true},
		{snowraftv1.ReservationService_TakeNumbers_FullMethodName, &snowraftv1.TakeNumbersRequest{}, true},
		{snowraftv1.ReservationService_ResolveNumbers_FullMethodName, &snowraftv1.ResolveNumbersRequest{}, true},
		{"/another.Service/Call", nil, false},
	}
	for _, method := range reads {
		all = append(all, request{method, nil, true})
	}
	for rule := range rpc.Rules() {
		if strings.HasPrefix(rule.Method, "/snowraft.v1.") && !slices.ContainsFunc(all, func(r request) bool { return r.method == rule.Method }) {
			t.Errorf("%s is missing in this test", rule.Method)
		}
	}
	for _, r := range all {
		p := policyOf(r.method, r.req)
		if got := p.again(&Error{code: codes.Unavailable, foreign: true}, true); got != r.again {
			t.Errorf("%s %v: again is %v after the error of a proxy", r.method, r.req, got)
		}
		for _, e := range []*Error{
			{Reason: rpc.CommitUnknown, code: codes.Unknown}, {code: codes.DeadlineExceeded}, {code: codes.Unavailable}, {code: codes.Canceled},
		} {
			if got := p.again(e, true); got != r.again {
				t.Errorf("%s %v: %v %s: again is %v", r.method, r.req, e.code, e.Reason, got)
			}
			if got := p.again(e, false); e.Reason != "" && got != r.again {
				t.Errorf("%s %v: %v %s: again is %v, and a member answered", r.method, r.req, e.code, e.Reason, got)
			}
			// A request that was not sent was not done.
			if e.Reason == "" && p.again(e, false) == p.rule.Never() {
				t.Errorf("%s %v: %v: again is %v, but nothing was sent", r.method, r.req, e.code, p.rule.Never())
			}
		}
		if p.rule.Never() {
			if p.again(&Error{Reason: rpc.ShuttingDown}, true) || p.again(&Error{Reason: rpc.NoLeader}, true) {
				t.Errorf("%s: sent again, perhaps to another member", r.method)
			}
			continue
		}
		if !p.again(&Error{Reason: rpc.ShuttingDown}, true) || !p.again(&Error{Reason: rpc.NoLeader}, true) || !p.again(&Error{Reason: rpc.NotLeader}, true) {
			t.Errorf("%s: not again, but nothing was done", r.method)
		}
	}
}

// The first table: what reasons say.
func TestReasons(t *testing.T) {
	harmless := policyOf(snowraftv1.IdService_GenerateIds_FullMethodName, &snowraftv1.GenerateIdsRequest{})
	undone := policyOf(snowraftv1.SequenceService_UpdateSequence_FullMethodName, &snowraftv1.UpdateSequenceRequest{})
	for _, r := range []struct {
		e        Error
		harmless bool // result for a method whose repetition is harmless
		undone   bool // result for a method that is repeated only if nothing was done
	}{
		{Error{Reason: rpc.NoLeader, code: codes.Unavailable}, true, true},
		{Error{Reason: rpc.NotLeader, code: codes.Unavailable}, true, true},
		{Error{Reason: rpc.ShuttingDown, code: codes.Unavailable}, true, true},
		{Error{Reason: rpc.WindowEnded, code: codes.Unavailable}, true, true},
		{Error{Reason: rpc.ClockBehind, code: codes.Unavailable}, true, true},
		{Error{Reason: rpc.ClockSkew, code: codes.Unavailable}, true, true},
		{Error{Reason: rpc.WorkersExhausted, code: codes.ResourceExhausted}, true, true},
		{Error{Reason: rpc.SequenceChanged, code: codes.Aborted}, true, false},
		{Error{Reason: rpc.Overloaded, code: codes.ResourceExhausted, RetryAfter: time.Second}, true, true},
		{Error{Reason: rpc.LimitReached, code: codes.ResourceExhausted}, false, false},
		{Error{Reason: rpc.CommitUnknown, code: codes.Unknown}, true, false},
		{Error{code: codes.Unavailable}, true, false},
		{Error{code: codes.DeadlineExceeded}, true, false},
		{Error{code: codes.Canceled}, true, false},
		{Error{code: codes.Internal}, false, false},
		{Error{code: codes.Unimplemented}, false, false},
		{Error{code: codes.ResourceExhausted}, false, false},
		{Error{Reason: rpc.UnknownLayout, code: codes.NotFound}, false, false},
		{Error{Reason: rpc.LayoutExists, code: codes.AlreadyExists}, false, false},
		{Error{Reason: rpc.TimeExhausted, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.UnknownMember, code: codes.NotFound}, false, false},
		{Error{Reason: rpc.OtherCluster, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.MemberUnreachable, code: codes.Unavailable}, false, false},
		{Error{Reason: rpc.MemberNotAlive, code: codes.Unavailable}, false, false},
		{Error{Reason: rpc.NamesIncomplete, code: codes.Unavailable, RetryAfter: time.Second}, true, true},
		{Error{Reason: rpc.NoSuccessor, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.QuorumAtRisk, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.VersionTooLow, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.NotGranted, code: codes.NotFound}, false, false},
		{Error{Reason: rpc.InvalidArgument, code: codes.InvalidArgument}, false, false},
		{Error{Reason: rpc.WindowMismatch, code: codes.Aborted}, false, false},
		{Error{Reason: rpc.UnknownSequence, code: codes.NotFound}, false, false},
		{Error{Reason: rpc.SequenceExists, code: codes.AlreadyExists}, false, false},
		{Error{Reason: rpc.SequenceExhausted, code: codes.OutOfRange}, false, false},
		{Error{Reason: rpc.WouldRepeat, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.StrictSequence, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.NotLastBlock, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.SetBack, code: codes.FailedPrecondition}, false, false},
		{Error{Reason: rpc.Contradicted, code: codes.Unavailable}, true, true},
		{Error{Reason: "SOME_LATER_REASON", code: codes.Unavailable}, false, false},
	} {
		if a, b := harmless.again(&r.e, true), undone.again(&r.e, true); a != r.harmless || b != r.undone {
			t.Errorf("%v %s: again is %v and %v, want %v and %v", r.e.code, r.e.Reason, a, b, r.harmless, r.undone)
		}
	}
}

// A call is repeatable if it may be tried again now, or later by its caller.
func TestRepeatable(t *testing.T) {
	for _, r := range rpc.Reasons() {
		for _, careful := range []bool{false, true} {
			e := &Error{Reason: r.Name, code: r.Code, careful: careful}
			again := policy{harmless: !careful}.again(e, true)
			if got, want := e.Repeatable(), again || r.Repeat == rpc.RepeatLater; got != want {
				t.Errorf("%s, careful %v: Repeatable() = %v, want %v", r.Name, careful, got, want)
			}
		}
	}
	for _, c := range []struct {
		e    Error
		want bool
	}{
		{Error{code: codes.DeadlineExceeded}, true},
		{Error{code: codes.DeadlineExceeded, careful: true}, false},
		{Error{code: codes.Unavailable, careful: true}, false},
		{Error{code: codes.Unavailable, careful: true, Unsent: true}, true},
		{Error{code: codes.Internal}, false},
		{Error{Reason: "SOME_LATER_REASON", code: codes.Unavailable}, false},
	} {
		if got := c.e.Repeatable(); got != c.want {
			t.Errorf("%v %s: Repeatable() = %v, want %v", c.e.code, c.e.Reason, got, c.want)
		}
	}
}

// A request for many IDs may take as long as their ticks last.
func TestLargeRequestsHaveLongTimeout(t *testing.T) {
	small := policyOf(snowraftv1.IdService_GenerateIds_FullMethodName, &snowraftv1.GenerateIdsRequest{Count: maxShared})
	large := policyOf(snowraftv1.IdService_GenerateIds_FullMethodName, &snowraftv1.GenerateIdsRequest{Count: limits.Count})
	if small.tryTimeout != memoryTimeout+maxShared*perID || !small.hedged || large.tryTimeout != memoryTimeout+limits.Count*perID || !large.large || small.large || large.hedged {
		t.Errorf("%+v and %+v", small, large)
	}
}

// Messages of gRPC become short and readable.
func TestMessagesOfGRPC(t *testing.T) {
	for said, want := range map[string]string{
		`last connection error: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`:                                                                        "dial tcp 127.0.0.1:1: connect: connection refused",
		`connection error: desc = "transport: authentication handshake failed: tls: first record does not look like a TLS handshake"`:                                                                                "the port does not speak TLS",
		`last connection error: connection error: desc = "error reading server preface: http2: failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header"`: "the port speaks HTTP/1.1; use the port for gRPC, 7700 by default",
		`unexpected HTTP status code received from server: 502 (Bad Gateway); transport: received unexpected content-type "text/html"`:                                                                               "not a Snowraft member (possibly a proxy): 502 (Bad Gateway)",
		`error reading from server: EOF`: "error reading from server: EOF",
	} {
		if got := plain(said); got != want {
			t.Errorf("%q became %q, want %q", said, got, want)
		}
	}
	many := &Error{code: codes.Unavailable, message: "x"}
	many.explain(strings.Fields("a b c d e f g"))
	if !strings.Contains(many.Error(), "a, b, c, d, e and 2 more") {
		t.Error(many)
	}
}
