package client

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Answers come in any order, and each belongs to its own request.
func TestStreamAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		const many = 20
		arrived, all := new(atomic.Int64), make(chan struct{})
		f.members[0].does(func(_ context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			if arrived.Add(1) == many {
				close(all)
			}
			<-all
			time.Sleep(time.Duration(many-req.GetAfter()) * time.Millisecond) // the last request is answered first
			return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: req.GetAfter() + 1, Count: 1, Step: 1}}}, nil
		})
		p := c.idStreams.choose()
		answers := make(chan [2]int64, many)
		for i := range int64(many) {
			sent := p.send(&letter{
				deadline:       time.Now().Add(time.Minute),
				carriedRequest: idRequest{&snowraftv1.StreamIdsRequest{Request: &snowraftv1.GenerateIdsRequest{After: i}}},
				arrived: func(a carriedAnswer, failed *former) {
					if failed != nil {
						t.Error(failed.err)
						answers <- [2]int64{i, 0}
						return
					}
					answers <- [2]int64{i, a.(*snowraftv1.StreamIdsResponse).GetResponse().GetRanges()[0].GetFirst()}
				},
			})
			if !sent {
				t.Fatal("not sent")
			}
		}
		for range many {
			if a := <-answers; a[1] != a[0]+1 {
				t.Errorf("request %d got the answer of request %d", a[0], a[1]-1)
			}
		}
	})
}

// While the member waits with as many requests as it reads from a stream, further requests do not queue behind them.
func TestRequestsBypassStalledStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, c := startStreams(t, 1)
		m, release := f.members[0], make(chan struct{})
		m.does(func(_ context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
			<-release
			return m.issue(req), nil
		})
		p, now := c.idStreams.choose(), time.Now()
		send := func(at time.Time) bool {
			return p.send(&letter{
				carriedRequest: smallRequest(), began: at, deadline: now.Add(time.Minute), arrived: func(carriedAnswer, *former) {},
			})
		}
		for i := range maxWaiting {
			if !send(now) {
				t.Fatalf("request %d was not sent", i)
			}
		}
		for _, test := range []struct {
			after time.Duration
			sent  bool
		}{{0, true}, {stalled, true}, {stalled + 1, false}, {time.Second, false}} {
			if sent := send(now.Add(test.after)); sent != test.sent {
				t.Errorf("%v after %d requests without an answer: sent is %t", test.after, maxWaiting, sent)
			}
		}
		p.mu.Lock()
		p.answers++ // one of the requests was answered
		p.mu.Unlock()
		if !send(now.Add(time.Second)) || send(now.Add(time.Second+2*stalled)) {
			t.Error("an answer does not end the stall, or ends it permanently")
		}
		close(release)
		until(t, "all requests are answered", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.letters) == 0
		})
		if !send(now.Add(time.Minute)) {
			t.Error("a request was not sent after all answers")
		}
	})
}
