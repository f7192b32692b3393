package clitest

import (
	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// overview returns the overview of two members, one of which does not answer.
func overview(by string, at int64) *snowraftv1.Overview {
	return &snowraftv1.Overview{
		ClusterId: "c-1", ComposedBy: by, ComposedAtMs: at, LeaderId: "n-1", LeaderName: "a", Term: 7, Quorum: quorum,
		ObservedClockAtMs: 1792419138000, WaitThresholdMs: 1000, MaxClockOffsetMs: 500,
		Verdict: &snowraftv1.Verdict{
			Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_WARNING, Sentence: "b does not answer a; a is issuing IDs.", ServesUntilAtMs: 1792419540000,
			Findings: []*snowraftv1.Finding{
				{
					Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_WARNING, Text: "b does not answer a", Action: "start b",
					Command: "snowraft member remove b", Runbook: "a-member-does-not-start", Member: "b",
				},
				{Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD, Text: "members run different versions"},
			},
		},
		Members: []*snowraftv1.MemberView{
			{
				Member: members[0], Answers: true, SeenAtMs: at - 300, Encrypted: true, ClockAtMs: at, ClockOffsetMs: -12, ServesUntilAtMs: 1792419540000,
				IdsPerSecond: new(1234.5), NumbersPerSecond: new(0.0), RefusalsPerSecond: new(0.0),
				Lanes: []*snowraftv1.Lane{
					{Layout: "default", Worker: 5, Token: 42, ServeUntilAtMs: 1792419540000},
					{Layout: "orders", Lane: 1, Problem: "all workers are held"},
				},
			},
			{Member: members[1], Problem: "does not answer a"},
		},
	}
}

// WatchOverview sends two overviews and fails.
func (f *API) WatchOverview(_ *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	for i := range int64(2) {
		if err := stream.Send(&snowraftv1.WatchOverviewResponse{Overview: overview(f.Address, 1792419139000+1000*i)}); err != nil {
			return err
		}
	}
	return rpc.NewError(rpc.ShuttingDown, "this member is shutting down")
}
