package client

import (
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// policy is the way in which a request is tried: the rule of its method, and how long a try may take.
type policy struct {
	rule *rpc.Rule // nil for methods of other services
	// harmless is the answer of the rule for this request.
	harmless bool
	// hedged requests may go to two members at once.
	hedged bool
	// patience is the time until another member is tried; 0: no limit but the call's.
	patience time.Duration
	// large requests may take all the time that is left, so that none is kept for another member.
	large bool
	// suspicious is the silence after which a member is passed over for a while; 0: any silence is normal.
	suspicious time.Duration
}

const (
	memoryPatience = 500 * time.Millisecond // for answers from a member's memory
	leaderPatience = 4 * time.Second        // members wait up to 2 s for a leader
	// memorySuspicious is longer than an answer from memory takes on a busy machine.
	memorySuspicious = 100 * time.Millisecond
)

// idPatience is the patience for as many IDs as callers share.
const idPatience = memoryPatience + maxShared*perID

const (
	// patientCount is the most IDs that a member is expected to issue in half of a call's time. More take as
	// long as their ticks last, on any member.
	patientCount = 4096
	// perID is the time for each ID, in layouts with few IDs per tick.
	perID = 250 * time.Microsecond
)

// policyOf returns the policy of a request.
func policyOf(method string, req any) policy {
	rule := rpc.RuleOf(method)
	if rule == nil {
		return policy{}
	}
	p := policy{rule: rule, harmless: rule.Harmless(req), suspicious: leaderPatience}
	switch method {
	case snowraftv1.LayoutService_CreateLayout_FullMethodName, snowraftv1.SequenceService_CreateSequence_FullMethodName,
		snowraftv1.ClusterService_UpdateConfig_FullMethodName, snowraftv1.ClusterService_AddMember_FullMethodName:
		return p // they wait for other members
	case snowraftv1.IdService_GenerateIds_FullMethodName, snowraftv1.IdService_GenerateUuids_FullMethodName:
		p.hedged = true
	}
	switch {
	case rule.GetClock() != "" || rule.GetRepeat() == snowraftv1.MethodRule_REPEAT_HARMLESS && rule.GetWhere() != snowraftv1.MethodRule_WHERE_ANY:
		p.patience = leaderPatience
	case rule.GetRepeat() == snowraftv1.MethodRule_REPEAT_HARMLESS:
		p.patience, p.suspicious = memoryPatience, memorySuspicious
	}
	if r, ok := req.(interface{ GetCount() uint32 }); ok && p.hedged {
		p.patience += time.Duration(r.GetCount()) * perID
		p.large = r.GetCount() > patientCount
		p.hedged = !p.large
	}
	return p
}

// again reports whether a failed try is worth another. sent is false if the request cannot have reached any member.
func (p policy) again(e *Error, sent bool) bool {
	switch {
	case p.rule.Never():
		return false
	case e.foreign:
		return p.harmless // a proxy may have passed the request on
	}
	switch e.repeat() {
	case rpc.RepeatYes:
		return true // nothing was done
	case rpc.RepeatByMethod:
		return p.harmless || e.Reason == "" && !sent
	default:
		return false
	}
}
