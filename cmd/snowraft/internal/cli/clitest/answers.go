package clitest

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// answers holds the answers of the methods that always answer the same, apart from the unreached members.
var answers = map[string]proto.Message{
	"WhoIs":              &snowraftv1.WhoIsResponse{Grant: grant},
	"CreateLayout":       &snowraftv1.CreateLayoutResponse{Layout: Layout},
	"GetLayout":          &snowraftv1.GetLayoutResponse{Layout: Layout},
	"ListLayouts":        &snowraftv1.ListLayoutsResponse{Layouts: []*snowraftv1.Layout{Layout}},
	"StartBackfill":      &snowraftv1.StartBackfillResponse{Backfill: backfill, PastUntilAtMs: 1792419138000},
	"BackfillIds":        &snowraftv1.BackfillIdsResponse{Ids: []int64{132271570944028672, 132271570948222976}, Position: 129171456006},
	"ListBackfills":      &snowraftv1.ListBackfillsResponse{Backfills: []*snowraftv1.Backfill{backfill}, PastUntilAtMs: 1792419138000, NextJob: 4, Capacity: 1024},
	"EndBackfill":        &snowraftv1.EndBackfillResponse{Backfill: backfill},
	"ResumeBackfills":    &snowraftv1.ResumeBackfillsResponse{NextJob: 8},
	"GetUpgrade":         &snowraftv1.GetUpgradeResponse{Upgrade: upgrade, Members: members},
	"ListMembers":        &snowraftv1.ListMembersResponse{Members: members, Quorum: quorum},
	"AddMember":          &snowraftv1.AddMemberResponse{Member: members[1]},
	"RemoveMember":       &snowraftv1.RemoveMemberResponse{Member: members[1]},
	"TransferLeadership": &snowraftv1.TransferLeadershipResponse{LeaderId: "n-2", LeaderName: "b"},
	"Leave":              &snowraftv1.LeaveResponse{},
	"GetConfig":          &snowraftv1.GetConfigResponse{Config: config},
	"UpdateConfig":       &snowraftv1.UpdateConfigResponse{Config: config},
	"ResetObservedClock": &snowraftv1.ResetObservedClockResponse{ObservedClockAtMs: 1792419138000},
	"ListEvents":         &snowraftv1.ListEventsResponse{Events: events},
	"DeleteSequence":     &snowraftv1.DeleteSequenceResponse{},
	"AcknowledgeRestore": &snowraftv1.AcknowledgeRestoreResponse{Restoration: &snowraftv1.Restoration{
		Ancestors: []string{"50d28448-6dfe-4a73-ab47-6105a27ac055"}, Index: 1882618233618432, RestoredAtMs: 1795403036444,
		FloorAtMs: 1795403637444, IssuesAtMs: 1795403636445, FrozenSequences: 2,
	}},
	"SealCluster": &snowraftv1.SealClusterResponse{Sealed: &snowraftv1.Sealed{
		SealedAtMs: 1795403036444, Index: 4711, Reason: "an operator sealed it",
	}},
	"CreateToken": &snowraftv1.CreateTokenResponse{Token: tokens[1], Text: tokenText},
	"GetToken":    &snowraftv1.GetTokenResponse{Token: tokens[1]},
	"ListTokens":  &snowraftv1.ListTokensResponse{Tokens: tokens, ObservedClockAtMs: 1794751338000},
	"UpdateToken": &snowraftv1.UpdateTokenResponse{Token: tokens[2]},
	"DeleteToken": &snowraftv1.DeleteTokenResponse{},
	"GetOverview": &snowraftv1.GetOverviewResponse{Overview: overview("a", 1792419138123)},
}

var backfill = &snowraftv1.Backfill{
	Job: 3, Holder: "import", CreatedAtMs: 1792419138123, Position: 129171456000, PositionAtMs: 1767225600000,
}

// addUnreached adds the unreached members to an answer that has a field for them.
func (f *API) addUnreached(answer proto.Message) {
	m := answer.ProtoReflect()
	if field := m.Descriptor().Fields().ByName("unreached_members"); field != nil {
		for _, name := range f.Unreached {
			m.Mutable(field).List().Append(protoreflect.ValueOfString(name))
		}
	}
}
