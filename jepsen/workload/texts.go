//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// texts takes numbers with their texts: late ones, those of tenants, and codes.
type texts struct {
	*client
	of      map[*lab.Member]snowraftv1.SequenceServiceClient
	ended   string // a period of late numbers that ended before the run
	tenants atomic.Uint32
}

// newTenants is the reciprocal of the share of requests to tenants that name a new one. An operator resumes each tenant after a restore.
const newTenants = 40

func newTexts(c *client, of map[*lab.Member]snowraftv1.SequenceServiceClient) *texts {
	return &texts{client: c, of: of, ended: time.Unix(0, history.Wall()).UTC().AddDate(0, 0, -1).Format(time.DateOnly)}
}

// begin states that the earlier period has no numbers yet, and takes the first number of each sequence.
func (c *texts) begin(ctx context.Context) error {
	stated := int64(1)
	for _, req := range []*snowraftv1.NextNumbersRequest{
		{Sequence: bills, Period: c.ended, From: &stated}, {Sequence: bills}, {Sequence: vouchers}, {Sequence: c.tenant()},
	} {
		for {
			if m, ok := c.w.someone(); ok && c.next(ctx, m, req).Outcome == history.OK {
				break
			}
			if req.GetPeriod() != "" && req.From == nil {
				req.From = &stated
			} else {
				req.From = nil // an earlier statement may have been accepted
			}
			if !history.Sleep(ctx, tryEvery) {
				return errors.New("the first numbers were not issued")
			}
		}
	}
	return nil
}

// ask takes a number of one of the sequences.
func (c *texts) ask(ctx context.Context) {
	m, ok := c.w.someone()
	if !ok {
		return
	}
	req := &snowraftv1.NextNumbersRequest{}
	switch rand.IntN(5) {
	case 0:
		req.Sequence = bills
	case 1:
		req.Sequence, req.Period = bills, c.ended
	case 2:
		req.Sequence = vouchers
	default:
		req.Sequence = c.tenant()
	}
	c.next(ctx, m, req)
}

// tenant returns the sequence of a tenant, sometimes of a new one.
func (c *texts) tenant() string {
	n := c.tenants.Load()
	if n == 0 || rand.IntN(newTenants) == 0 {
		n = c.tenants.Add(1)
	} else {
		n = 1 + rand.Uint32N(n)
	}
	return fmt.Sprintf("tenants/t%d", n)
}

func (c *texts) next(ctx context.Context, m *lab.Member, req *snowraftv1.NextNumbersRequest) history.Op {
	req.Count = 1
	op, _ := c.call(ctx, m, history.Op{Do: history.DoText, Key: req.GetSequence(), Period: req.GetPeriod()},
		func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
			resp, err := c.of[m].NextNumbers(ctx, req, opts...)
			if err == nil {
				op.First, op.Count, op.Period, op.Text = resp.GetFirst(), resp.GetCount(), resp.GetPeriod(), resp.GetTexts()[0]
			}
			return err
		})
	return op
}
