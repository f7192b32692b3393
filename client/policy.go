package client

import (
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// policy is how a method is tried.
type policy struct {
	// repeatable: doing it twice is harmless; at worst IDs or numbers are skipped.
	repeatable bool
	// patience is how long a member may take before another is tried; 0: as long as the call.
	patience time.Duration
	// hedged: two members may be asked at once.
	hedged bool
	// elsewhere: what keeps one member from it need not keep another.
	elsewhere bool
}

const (
	memoryPatience = time.Second     // of answers from a member's memory
	leaderPatience = 4 * time.Second // members wait up to 2 s for a leader
)

// policies of all methods that are not tried again unless nothing was done.
var policies = map[string]policy{
	snowraftv1.IdService_GenerateIds_FullMethodName:       {repeatable: true, patience: memoryPatience, hedged: true, elsewhere: true},
	snowraftv1.SequenceService_Next_FullMethodName:        {repeatable: true, patience: leaderPatience, elsewhere: true},
	snowraftv1.SequenceService_GetSequence_FullMethodName: {repeatable: true, patience: memoryPatience, elsewhere: true},
	snowraftv1.ClusterService_ListMembers_FullMethodName:  {repeatable: true, patience: memoryPatience, elsewhere: true},
	snowraftv1.ClusterService_GetStatus_FullMethodName:    {repeatable: true, patience: memoryPatience, elsewhere: true},
}

// again reports whether a try that failed is worth another. sent is false if the request
// cannot have reached any member.
func (p policy) again(e *Error, sent bool) bool {
	switch e.Reason {
	case rpc.NoLeader, rpc.NotLeader, rpc.ShuttingDown, rpc.SequenceChanged:
		return true // nothing was done
	case rpc.WindowEnded, rpc.ClockBehind, rpc.ClockSkew, rpc.WorkersExhausted:
		return p.elsewhere
	case rpc.LimitReached:
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
