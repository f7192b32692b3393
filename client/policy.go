package client

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// policy is how a method is tried. It says what docs/grpc.md says.
type policy struct {
	// repeatable: doing it twice is harmless; at worst IDs or numbers are skipped.
	repeatable bool
	// blind: it may be done anew without looking what has changed meanwhile.
	blind bool
	// elsewhere: what keeps one member from it need not keep another.
	elsewhere bool
	// hedged: two members may be asked at once.
	hedged bool
	// patience is how long a member may take before another is tried; 0: as long as the call.
	patience time.Duration
	// large: it may take all the time that is left, so none is kept for another member.
	large bool
	// suspicious is how long a member has to have been silent to be passed over for a while; 0: it may be
	// silent for as long as it likes.
	suspicious time.Duration
	// fleeting: it carries the caller's clock, so the caller tries again itself, with a request of that moment.
	fleeting bool
}

const (
	memoryPatience = 500 * time.Millisecond // of answers from a member's memory
	leaderPatience = 4 * time.Second        // members wait up to 2 s for a leader
	// memorySuspicious is longer than what comes from memory takes on a busy machine.
	memorySuspicious = 100 * time.Millisecond
)

var (
	memory = policy{repeatable: true, blind: true, elsewhere: true, patience: memoryPatience, suspicious: memorySuspicious}
	issues = policy{repeatable: true, blind: true, elsewhere: true, hedged: true, patience: memoryPatience, suspicious: memorySuspicious}
	leads  = policy{repeatable: true, blind: true, elsewhere: true, patience: leaderPatience, suspicious: leaderPatience}
	// settles: the same again changes nothing.
	settles = policy{repeatable: true, blind: true, suspicious: leaderPatience}
	// once: again only if nothing was done.
	once = policy{blind: true, suspicious: leaderPatience}
	// fleeting: a member that hangs is passed over by the caller's next try.
	fleeting = policy{fleeting: true, patience: leaderPatience, suspicious: leaderPatience}
	// looks: whether it still is what the caller wants only the caller can say.
	looks = policy{suspicious: leaderPatience}
)

// policies of all methods that are no streams. A method that is not here is tried once.
var policies = map[string]policy{
	snowraftv1.IdService_GenerateIds_FullMethodName:   issues,
	snowraftv1.IdService_GenerateUuids_FullMethodName: issues,
	snowraftv1.IdService_DecodeId_FullMethodName:      memory,
	snowraftv1.IdService_WhoIs_FullMethodName:         leads,

	snowraftv1.SequenceService_Next_FullMethodName:           leads,
	snowraftv1.SequenceService_GetLast_FullMethodName:        leads,
	snowraftv1.SequenceService_GetSequence_FullMethodName:    memory,
	snowraftv1.SequenceService_ListSequences_FullMethodName:  memory,
	snowraftv1.SequenceService_CreateSequence_FullMethodName: settles,
	snowraftv1.SequenceService_UpdateSequence_FullMethodName: looks,
	snowraftv1.SequenceService_DeleteSequence_FullMethodName: looks,
	snowraftv1.SequenceService_SetNext_FullMethodName:        looks,
	snowraftv1.SequenceService_AllocateBlock_FullMethodName:  leads, // a block that is granted twice is one that is skipped
	snowraftv1.SequenceService_ReturnBlock_FullMethodName:    once,

	snowraftv1.LayoutService_CreateLayout_FullMethodName: settles,
	snowraftv1.LayoutService_GetLayout_FullMethodName:    memory,
	snowraftv1.LayoutService_ListLayouts_FullMethodName:  memory,

	snowraftv1.WorkerService_AcquireWorker_FullMethodName: fleeting,
	snowraftv1.WorkerService_ExtendWindow_FullMethodName:  fleeting,
	snowraftv1.WorkerService_ReleaseWorker_FullMethodName: once,
	snowraftv1.WorkerService_ListWorkers_FullMethodName:   leads,

	snowraftv1.ClusterService_GetStatus_FullMethodName:          memory,
	snowraftv1.ClusterService_ListMembers_FullMethodName:        memory,
	snowraftv1.ClusterService_GetConfig_FullMethodName:          memory,
	snowraftv1.ClusterService_AwaitIndex_FullMethodName:         {repeatable: true, blind: true}, // it waits for long
	snowraftv1.ClusterService_UpdateConfig_FullMethodName:       settles,
	snowraftv1.ClusterService_AddMember_FullMethodName:          settles,
	snowraftv1.ClusterService_RemoveMember_FullMethodName:       looks,
	snowraftv1.ClusterService_Leave_FullMethodName:              looks,
	snowraftv1.ClusterService_TransferLeadership_FullMethodName: looks,
	snowraftv1.ClusterService_ResetObservedClock_FullMethodName: looks,
}

const (
	// patientCount is the most IDs that a member is expected to issue in half of a call's time. More take as
	// long as their ticks last, anywhere.
	patientCount = 4096
	// perID is how long each may take, in layouts with few IDs a tick.
	perID = 250 * time.Microsecond
)

// issuing is how count IDs are tried.
func (p policy) issuing(count uint32) policy {
	p.patience += time.Duration(count) * perID
	if count > patientCount {
		p.large, p.hedged = true, false
	}
	return p
}

// policyOf is how a certain request is tried.
func policyOf(method string, req any) policy {
	p := policies[method]
	switch r := req.(type) {
	case *snowraftv1.GenerateIdsRequest:
		p = p.issuing(r.GetCount())
	case *snowraftv1.GenerateUuidsRequest:
		p = p.issuing(r.GetCount())
	case *snowraftv1.CreateSequenceRequest:
		if r.GetForce() {
			p = looks // it goes over what was deleted in between
		}
	}
	return p
}

// again reports whether a try that failed is worth another. sent is false if the request
// cannot have reached any member.
func (p policy) again(e *Error, sent bool) bool {
	if p.fleeting {
		return false
	}
	if e.foreign {
		return p.repeatable // what stands between may have passed the request on
	}
	switch e.Reason {
	case rpc.NoLeader, rpc.NotLeader, rpc.ShuttingDown:
		return true // nothing was done
	case rpc.SequenceChanged:
		return p.blind
	case rpc.WindowEnded, rpc.ClockBehind, rpc.ClockSkew, rpc.WorkersExhausted:
		return p.elsewhere
	case rpc.LimitReached, rpc.Unreachable:
		return e.RetryAfter > 0
	case rpc.CommitUnknown:
		return p.repeatable
	case "":
		switch e.code {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			return p.repeatable || !sent
		}
	}
	return false
}
