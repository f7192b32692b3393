package top

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// ratedLate answers with rates from a number of requests on.
type ratedLate struct {
	snowraftv1.ViewServiceClient
	from, requests int
}

func (v *ratedLate) GetOverview(context.Context, *snowraftv1.GetOverviewRequest, ...grpc.CallOption) (*snowraftv1.GetOverviewResponse, error) {
	v.requests++
	m := &snowraftv1.MemberView{Answers: true}
	if v.requests >= v.from {
		m.IdsPerSecond = new(1.5)
	}
	silent := &snowraftv1.MemberView{}
	return &snowraftv1.GetOverviewResponse{Overview: &snowraftv1.Overview{Members: []*snowraftv1.MemberView{m, silent}}}, nil
}

// A single view waits for rates, but not without end.
func TestSingleViewHasRates(t *testing.T) {
	t.Parallel()
	for from, want := range map[int]int{1: 1, 3: 3, 1000: 1 + mostRetries} {
		synctest.Test(t, func(t *testing.T) {
			v := &ratedLate{from: from}
			if _, err := withRates(t.Context(), &cli.Remote{Views: v}); err != nil || v.requests != want {
				t.Errorf("with rates from request %d: %d requests, %v, want %d", from, v.requests, err, want)
			}
		})
	}
}
