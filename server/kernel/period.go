package kernel

import (
	"context"

	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// OfPeriod reports whether a request is for numbers of one period only.
func OfPeriod(req *snowraftv1.NextNumbersRequest) bool {
	return req.GetPeriod() != "" || req.From != nil
}

func periodRequest(req *snowraftv1.NextNumbersRequest) member.PeriodRequest {
	return member.PeriodRequest{Period: req.GetPeriod(), From: req.From, RequestID: req.GetRequestId()}
}

// NextOfPeriod issues numbers of one period to the caller of an admission. Only a caller that may change the sequence states how a
// period ended, because an untrue statement repeats numbers.
func (k *Kernel) NextOfPeriod(ctx context.Context, a *trust.Admission, sequence string, count uint64, r member.PeriodRequest) (n member.Numbering, err error) {
	if err := CheckNext(count, r.RequestID); err != nil {
		return n, err
	}
	if r.From != nil {
		if err := a.Principal().Authorize(trust.RightAdminSequence, sequence); err != nil {
			return n, err
		}
	}
	relayed, charged := trust.RelayOf(ctx) != "", count
	if relayed {
		charged = 0
	}
	if err := spend(a, trust.RightNextNumbers, sequence, charged); err != nil {
		return n, err
	}
	ctx, cancel := Bounded(trust.WithAdmission(ctx, *a))
	defer cancel()
	n, err = k.Source.NextOfPeriod(ctx, sequence, count, r)
	if relayed {
		if err == nil {
			err = a.Still()
		}
		return n, err
	}
	if err = k.finish(a, count, err); err == nil {
		k.countNumbers(n)
	}
	return n, err
}
