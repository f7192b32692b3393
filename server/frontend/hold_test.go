package frontend

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// desk is a stream of numbers. A request with an ID of 100 or more waits until the test releases it.
type desk struct {
	grpc.ServerStream
	t        *testing.T
	requests chan *snowraftv1.StreamNumbersRequest
	answers  chan uint64
	release  chan struct{}
	reading  atomic.Int64 // goroutines
	carrier  *carrier
}

func newDesk(t *testing.T, carries *carriage) *desk {
	d := &desk{t: t, requests: make(chan *snowraftv1.StreamNumbersRequest), answers: make(chan uint64, 100), release: make(chan struct{})}
	s, _ := small(t, nil)
	s.handle = func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return handler(ctx, req)
	}
	d.carrier = &carrier{
		Server: s, ss: d, ctx: t.Context(), carries: carries, reply: carries.answer(), info: &grpc.UnaryServerInfo{},
		rule: rpc.RuleOf(snowraftv1.SequenceService_StreamNumbers_FullMethodName), inner: rpc.RuleOf(carries.method),
		method: s.metrics.requests.of(protocolGRPC, "numbers"),
		handler: func(ctx context.Context, req any) (any, error) {
			if req.(*snowraftv1.NextNumbersRequest).GetRequestId() != "" {
				select {
				case <-d.release:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return &snowraftv1.NextNumbersResponse{Count: 1}, nil
		},
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.carrier.read()
		d.carrier.readers.Wait()
		d.carrier.release()
	}()
	t.Cleanup(func() {
		close(d.requests)
		<-ended
	})
	return d
}

func (d *desk) RecvMsg(m any) error {
	d.reading.Add(1)
	defer d.reading.Add(-1)
	req, ok := <-d.requests
	if !ok {
		return io.EOF
	}
	proto.Merge(m.(carriedNumbers).StreamNumbersRequest, req)
	return nil
}

func (d *desk) SendMsg(m any) error {
	d.answers <- m.(answeringNumbers).GetId()
	return nil
}

// ask sends a request. A request with an ID of 100 or more waits.
func (d *desk) ask(id uint64) {
	req := &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1}
	if id >= 100 {
		req.RequestId = "waits"
	}
	d.requests <- &snowraftv1.StreamNumbersRequest{Id: id, Request: req}
	synctest.Wait()
}

// answer returns the time until a request is answered.
func (d *desk) answer(id uint64) time.Duration {
	d.t.Helper()
	began := time.Now()
	if got := <-d.answers; got != id {
		d.t.Errorf("request %d was answered, want %d", got, id)
	}
	return time.Since(began)
}

// single sends requests one at a time.
func (d *desk) single(n int) {
	d.t.Helper()
	for range n {
		time.Sleep(time.Millisecond)
		d.ask(1)
		d.answer(1)
	}
}

// A waiting request holds its stream only while requests come one at a time, and never for long.
func TestRequestHoldsStreamWhileRequestsComeOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, carriages[snowraftv1.SequenceService_StreamNumbers_FullMethodName])
		heldBack := func(reading int64) time.Duration {
			t.Helper()
			time.Sleep(time.Millisecond)
			d.ask(100)
			if n := d.reading.Load(); n != reading {
				t.Errorf("%d goroutines read while a request waits, want %d", n, reading)
			}
			began := time.Now()
			d.ask(2)
			d.answer(2)
			took := time.Since(began)
			d.release <- struct{}{}
			d.answer(100)
			return took
		}
		if took := heldBack(1); took != 0 {
			t.Errorf("a request behind the first one waited %v", took)
		}
		d.single(enoughSingle)
		if took := heldBack(0); took == 0 || took > 2*holdFor {
			t.Errorf("after requests one at a time, a request behind another one waited %v", took)
		}
		if took := heldBack(1); took != 0 {
			t.Errorf("after requests that came together, a request behind another one waited %v", took)
		}
		// While no request is behind, requests that wait briefly hold the stream repeatedly.
		d.single(enoughSingle)
		for range 20 {
			time.Sleep(time.Millisecond)
			d.ask(100)
			if n := d.reading.Load(); n != 0 {
				t.Fatalf("%d goroutines read, want none", n)
			}
			time.Sleep(holdFor / 4)
			d.release <- struct{}{}
			d.answer(100)
		}
		// A request that waits long releases the stream even if no request is behind it.
		d.ask(100)
		time.Sleep(2 * holdFor)
		synctest.Wait()
		if n := d.reading.Load(); n != 1 {
			t.Errorf("%d goroutines read while a request waits for long, want 1", n)
		}
		d.release <- struct{}{}
		d.answer(100)
	})
}

// Requests whose wait may be long do not hold the stream.
func TestRequestsForIDsHoldNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		carries := *carriages[snowraftv1.SequenceService_StreamNumbers_FullMethodName]
		carries.confirms = carriages[snowraftv1.IdService_StreamIds_FullMethodName].confirms
		d := newDesk(t, &carries)
		d.single(2 * enoughSingle)
		d.ask(100)
		d.ask(2)
		if took := d.answer(2); took != 0 {
			t.Errorf("a request behind another one waited %v", took)
		}
		d.release <- struct{}{}
		d.answer(100)
	})
}
