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
	"CreateTemplate": &snowraftv1.CreateTemplateResponse{Template: template},
	"GetTemplate":    &snowraftv1.GetTemplateResponse{Template: template},
	"ListTemplates":  &snowraftv1.ListTemplatesResponse{Templates: []*snowraftv1.Template{template, suspended}},
	"UpdateTemplate": &snowraftv1.UpdateTemplateResponse{Template: template},
	"DeleteTemplate": &snowraftv1.DeleteTemplateResponse{},
	"ResumeTemplate": &snowraftv1.ResumeTemplateResponse{Template: template},
	"CreateToken":    &snowraftv1.CreateTokenResponse{Token: tokens[1], Text: tokenText},
	"GetToken":       &snowraftv1.GetTokenResponse{Token: tokens[1]},
	"ListTokens":     &snowraftv1.ListTokensResponse{Tokens: tokens, ObservedClockAtMs: 1794751338000},
	"UpdateToken":    &snowraftv1.UpdateTokenResponse{Token: tokens[2]},
	"DeleteToken":    &snowraftv1.DeleteTokenResponse{},
	"ReserveNumbers": &snowraftv1.ReserveNumbersResponse{Reservations: []*snowraftv1.Reservation{
		reservation, {
			Key: "order-1002", Number: 18, Text: "INV-2026-00018", Period: "2026-01-01", Reservation: 5648, Attempt: 1,
			Fate: snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED, ReservedAtMs: 1792418538000, Holder: "open",
		},
	}},
	"ConfirmNumbers":   &snowraftv1.ConfirmNumbersResponse{},
	"VoidNumbers":      &snowraftv1.VoidNumbersResponse{},
	"TakeNumbers":      &snowraftv1.TakeNumbersResponse{},
	"ResolveNumbers":   &snowraftv1.ResolveNumbersResponse{},
	"ListReservations": &snowraftv1.ListReservationsResponse{Reservations: []*snowraftv1.Reservation{reservation}},
	"ListPeriods": &snowraftv1.ListPeriodsResponse{Periods: []*snowraftv1.PeriodSummary{
		account, {Period: "2025-01-01", Closed: true, First: new(int64(1)), Last: new(int64(9)), Confirmed: 9},
	}},
	"AuditPeriod": &snowraftv1.AuditPeriodResponse{Summary: account, Numbers: []*snowraftv1.NumberAccount{
		{Number: 3, Count: 1, Fate: snowraftv1.NumberFate_NUMBER_FATE_VOID, Voids: 1, Reason: "order canceled", Reusable: true, Index: 5000, AtMs: 1792418538000, Caller: "token 17 (billing)"},
		{Number: 5, Count: 1, Fate: snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED, Voids: 2, Reason: "payment failed, \"twice\"", Index: 5100, AtMs: 1792418538000, Caller: "open"},
		{Number: 10, Count: 3, Fate: snowraftv1.NumberFate_NUMBER_FATE_TAKEN, Reason: "written by hand", Index: 5200, AtMs: 1792418538000, Caller: "admin"},
		{Number: 17, Count: 1, Fate: snowraftv1.NumberFate_NUMBER_FATE_OPEN, Key: "order-1001", Index: 5649, AtMs: 1792419138000, Caller: "token 17 (billing)"},
	}},
	"GetOverview": &snowraftv1.GetOverviewResponse{Overview: overview("a", 1792419138123)},
}

var backfill = &snowraftv1.Backfill{
	Job: 3, Holder: "import", CreatedAtMs: 1792419138123, Position: 129171456000, PositionAtMs: 1767225600000,
}

var reservation = &snowraftv1.Reservation{
	Key: "order-1001", Number: 17, Text: "INV-2026-00017", Period: "2026-01-01", Reservation: 5649, Attempt: 2,
	Fate: snowraftv1.NumberFate_NUMBER_FATE_OPEN, ReservedAtMs: 1792419138000, Holder: "token 17 (billing)",
}

var account = &snowraftv1.PeriodSummary{
	Period: "2026-01-01", First: new(int64(1)), Last: new(int64(18)), Confirmed: 13, Void: 1, Taken: 3, Open: 1,
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
