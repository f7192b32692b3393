package overview

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Unreachable returns the overview of a gateway that reaches no member. It is the last overview of a member, if there is one,
// with all members silent since then and without what only members know now. The reason why is for people. Times are in Unix
// ms. Unreachable does not change last, and the caller owns the result.
func Unreachable(gateway string, now, since int64, why error, last *snowraftv1.Overview) *snowraftv1.Overview {
	o := &snowraftv1.Overview{}
	if last != nil {
		o = proto.CloneOf(last)
	}
	o.ComposedBy, o.ComposedAtMs = gateway, now
	o.LeaderId, o.LeaderName = "", ""
	o.Quorum, o.ObservedClockAtMs = nil, 0
	for _, m := range o.GetMembers() {
		m.Answers, m.Problem = false, "does not answer gateway "+gateway
		m.IdsPerSecond, m.NumbersPerSecond, m.RefusalsPerSecond = nil, nil, nil
		m.Member.Leader = false
	}
	const action = "check the members, and the network from the gateway to the addresses in --members"
	text := fmt.Sprintf("no member has answered gateway %s since %s", gateway, clockTime(since, now))
	o.Verdict = &snowraftv1.Verdict{
		Level:    snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD,
		Sentence: capital(text, nil) + "; " + action + ".",
		Findings: []*snowraftv1.Finding{{
			Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_BAD, Text: text + ": " + rpc.Message(errors.New(rpc.FromError(why).Message)),
			Action:  action,
			Runbook: runbookCutOff,
		}},
	}
	return o
}
