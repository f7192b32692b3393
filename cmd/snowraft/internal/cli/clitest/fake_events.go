package clitest

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

var events = []*snowraftv1.Event{
	{
		AtMs: 1792419138000, FirstAtMs: 1792419131000, Member: "b", MemberId: "n-2", Number: 31, Count: 1200, Reason: "NO_LEADER",
		Kind: snowraftv1.EventKind_EVENT_KIND_REFUSAL, Severity: snowraftv1.EventSeverity_EVENT_SEVERITY_WARNING, Text: "requests failed: NO_LEADER",
	},
	{
		AtMs: 1792419132500, FirstAtMs: 1792419132500, Member: "b", MemberId: "n-2", Number: 30, Count: 1,
		Kind: snowraftv1.EventKind_EVENT_KIND_ELECTION, Severity: snowraftv1.EventSeverity_EVENT_SEVERITY_INFO, Text: "b was elected leader in term 7: the process of the last leader exited",
	},
	{
		AtMs: 1792419131000, FirstAtMs: 1792419131000, Member: "a", MemberId: "n-1", Number: 9, Count: 1, Actor: "token 17 (ops)", Address: "10.0.0.7:40112", Reason: "PERMISSION_DENIED",
		Kind: snowraftv1.EventKind_EVENT_KIND_DENIAL, Severity: snowraftv1.EventSeverity_EVENT_SEVERITY_WARNING, Text: "delete sequence \"orders\": refused",
	},
}
