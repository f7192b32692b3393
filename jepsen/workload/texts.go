//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// texts takes numbers with their texts, late ones, those of tenants, and codes, and reads texts back.
type texts struct {
	*client
	of      map[*lab.Member]snowraftv1.SequenceServiceClient
	printed *printed
	ended   string // a period of late numbers that ended before the run
	tenants atomic.Uint32
}

// newTenants is the reciprocal of the share of requests to tenants that name a new one. An operator resumes each tenant after a restore.
const newTenants = 40

func newTexts(c *client, of map[*lab.Member]snowraftv1.SequenceServiceClient) *texts {
	return &texts{client: c, of: of, printed: new(printed), ended: time.Unix(0, history.Wall()).UTC().AddDate(0, 0, -1).Format(time.DateOnly)}
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

// ask takes a number of one of the sequences, or reads a text back.
func (c *texts) ask(ctx context.Context) {
	m, ok := c.w.someone()
	if !ok {
		return
	}
	if rand.IntN(6) == 0 {
		c.decode(ctx, m)
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
	c.printed.add(op)
	return op
}

// decode reads a text that a client received.
func (c *texts) decode(ctx context.Context, m *lab.Member) {
	sequence, text, ok := c.printed.any()
	if !ok {
		return
	}
	_, _ = c.call(ctx, m, history.Op{Do: history.DoDecode, Key: sequence, Text: text}, // recorded
		func(ctx context.Context, op *history.Op, opts ...grpc.CallOption) error {
			resp, err := c.of[m].DecodeText(ctx, &snowraftv1.DecodeTextRequest{Sequence: sequence, Text: text}, opts...)
			if err == nil {
				op.First, op.Period = resp.GetNumber(), resp.GetPeriod()
				op.State = map[snowraftv1.GrantState]string{
					snowraftv1.GrantState_GRANT_STATE_GRANTED: history.StateGranted, snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED: history.StateNotGranted,
					snowraftv1.GrantState_GRANT_STATE_UNKNOWN: history.StateUnknown,
				}[resp.GetState()]
			}
			return err
		})
}

// mostPrinted is the number of texts that clients may read back.
const mostPrinted = 1000

// printed holds a random part of the texts that clients received.
type printed struct {
	mu    sync.Mutex
	texts [][2]string // sequence and text
}

func (p *printed) add(op history.Op) {
	if op.Outcome != history.OK {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := [2]string{op.Key, op.Text}; len(p.texts) < mostPrinted {
		p.texts = append(p.texts, one)
	} else {
		p.texts[rand.IntN(mostPrinted)] = one
	}
}

func (p *printed) any() (sequence, text string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.texts) == 0 {
		return "", "", false
	}
	one := anyOf(p.texts)
	return one[0], one[1], true
}
