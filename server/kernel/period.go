package kernel

import (
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// PeriodRequest is the part of a request for numbers that names a period.
type PeriodRequest = member.PeriodRequest

// OfPeriod reports whether a request is for numbers of one period only.
func OfPeriod(req *snowraftv1.NextNumbersRequest) bool {
	return ofPeriod(periodRequest(req))
}

func ofPeriod(r member.PeriodRequest) bool { return r.Period != "" || r.From != nil }

func periodRequest(req *snowraftv1.NextNumbersRequest) member.PeriodRequest {
	return member.PeriodRequest{Period: req.GetPeriod(), From: req.From, RequestID: req.GetRequestId()}
}
