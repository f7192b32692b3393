package client

import (
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// policy holds the rule of a request's method and the time limits of its tries.
type policy struct {
	rule *rpc.Rule // nil if the method has none
	// harmless reports whether, by the rule, a repetition of this request does no harm.
	harmless bool
	// hedged requests may go to two members at once.
	hedged bool
	// tryTimeout is the time until another member is tried; 0: until the deadline of the call.
	tryTimeout time.Duration
	// large requests may use all the remaining time: none is reserved for another member.
	large bool
	// suspicious is the time without an answer after which a member is suspected; 0: it never is.
	suspicious time.Duration
}

const (
	memoryTimeout = 500 * time.Millisecond // members answer from memory
	leaderTimeout = 4 * time.Second        // members wait up to 2 s for a leader
	// memorySuspicious is longer than a member on a busy machine needs to answer from memory.
	memorySuspicious = 100 * time.Millisecond
)

// idTimeout is the time limit of a try for the greatest number of IDs that a caller may request in a shared call.
const idTimeout = memoryTimeout + maxShared*perID

const (
	// quickCount is the greatest number of IDs that a member is expected to issue in half of a call's time. A
	// greater number takes as long as its ticks last, on any member.
	quickCount = 4096
	// perID is the time per ID in layouts with few IDs per tick.
	perID = 250 * time.Microsecond
)

// policyOf returns the policy for calls with that request.
func policyOf(method string, req any) policy {
	rule := rpc.RuleOf(method)
	if rule == nil {
		return policy{}
	}
	p := policy{rule: rule, harmless: rule.Harmless(req), suspicious: leaderTimeout}
	switch method {
	case snowraftv1.LayoutService_CreateLayout_FullMethodName, snowraftv1.SequenceService_CreateSequence_FullMethodName,
		snowraftv1.ClusterService_UpdateConfig_FullMethodName, snowraftv1.ClusterService_AddMember_FullMethodName:
		return p // these methods wait for other members
	case snowraftv1.IdService_GenerateIds_FullMethodName, snowraftv1.IdService_GenerateUuids_FullMethodName:
		p.hedged = true
	}
	switch {
	case rule.GetClock() != "" || rule.GetRepeat() == snowraftv1.MethodRule_REPEAT_HARMLESS && rule.GetWhere() != snowraftv1.MethodRule_WHERE_ANY:
		p.tryTimeout = leaderTimeout
	case rule.GetRepeat() == snowraftv1.MethodRule_REPEAT_HARMLESS:
		p.tryTimeout, p.suspicious = memoryTimeout, memorySuspicious
	}
	if r, ok := req.(interface{ GetCount() uint32 }); ok && p.hedged {
		p.tryTimeout += time.Duration(r.GetCount()) * perID
		p.large = r.GetCount() > quickCount
		p.hedged = !p.large
	}
	return p
}

// again reports whether to retry after a failed try. sent is false if the request cannot have reached any member.
func (p policy) again(e *Error, sent bool) bool {
	switch {
	case p.rule.Never():
		return false
	case e.foreign:
		return p.harmless // a proxy may have forwarded the request
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
