package mux

import (
	"cmp"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// wire is the other side of a stream.
type wire struct {
	grpc.ClientStream
	answers chan *snowraftv1.StreamIdsResponse // nil ends the stream
	failure error                              // ends the stream instead of io.EOF

	mu       sync.Mutex
	requests []*snowraftv1.StreamIdsRequest
	finished bool
}

func (w *wire) SendMsg(m any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, m.(IDRequest).StreamIdsRequest)
	return nil
}

func (w *wire) RecvMsg(m any) error {
	a := <-w.answers
	if a == nil && w.failure != nil {
		return w.failure
	}
	if a == nil {
		return io.EOF
	}
	into := m.(*snowraftv1.StreamIdsResponse)
	proto.Reset(into)
	proto.Merge(into, a)
	return nil
}

func (w *wire) CloseSend() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finished = true
	return nil
}

// start returns a stream that receives, and its other side. The stream ends with the test.
func start(t *testing.T, receipt func(Answer)) (*Stream, *wire) {
	t.Helper()
	w := &wire{answers: make(chan *snowraftv1.StreamIdsResponse)}
	s := New(new(snowraftv1.StreamIdsResponse), receipt, 0)
	if s.Open() || s.Send(&call("default", time.Now()).Call) {
		t.Error("a stream is open before it has begun")
	}
	go func() { _ = s.Run(func() (grpc.ClientStream, error) { return w, nil }) }()
	synctest.Wait()
	t.Cleanup(func() { close(w.answers) })
	return s, w
}

// result is the receiver of one call.
type result struct {
	Call
	first int64 // first ID in the answer
	err   error
	calls int // number of results
}

func (r *result) Receive(a Answer, err error) {
	r.calls++
	if r.err = err; err == nil {
		r.first = a.(*snowraftv1.StreamIdsResponse).GetResponse().GetRanges()[0].GetFirst()
	}
}

// call returns a new call.
func call(layout string, began time.Time) *result {
	r := &result{}
	r.Call = Call{
		Request:  IDRequest{&snowraftv1.StreamIdsRequest{Request: &snowraftv1.GenerateIdsRequest{Layout: layout}}},
		Receiver: r, Began: began, Deadline: began.Add(time.Minute),
	}
	return r
}

func answer(id uint64) *snowraftv1.StreamIdsResponse {
	return &snowraftv1.StreamIdsResponse{Id: id, Response: &snowraftv1.GenerateIdsResponse{
		Ranges: []*snowraftv1.IdRange{{First: int64(id) * 100, Count: 1, Step: 1}},
	}}
}

// Answers come in any order, and each belongs to its own request. Answers to no request have no effect.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start(t, nil)
		results := make([]*result, 5)
		for i := range results {
			results[i] = call("default", time.Now())
			if !s.Send(&results[i].Call) {
				t.Fatal("not sent")
			}
		}
		for _, id := range []uint64{5, 3, 99, 3, 1} {
			w.answers <- answer(id)
		}
		w.answers <- &snowraftv1.StreamIdsResponse{Id: 4, Error: status.New(codes.OK, "").Proto()}
		w.answers <- &snowraftv1.StreamIdsResponse{Id: 2, Error: status.New(codes.NotFound, "no layout").Proto()}
		synctest.Wait()
		for i, r := range results {
			switch id := i + 1; {
			case r.calls != 1:
				t.Errorf("request %d has %d results", id, r.calls)
			case id == 2 && status.Code(r.err) != codes.NotFound:
				t.Errorf("request %d failed with %v", id, r.err)
			case id == 4 && status.Code(r.err) != codes.Unavailable:
				t.Errorf("request %d, whose answer has an error without a code, failed with %v", id, r.err)
			case id != 2 && id != 4 && r.first != int64(id)*100:
				t.Errorf("request %d got the answer %d", id, r.first)
			}
		}
		if !s.Idle() || s.Answered() != 5 || s.bytes != 0 {
			t.Errorf("idle %t, %d answered, %d bytes", s.Idle(), s.Answered(), s.bytes)
		}
	})
}

// While the other side waits with as many requests as it reads, further requests do not queue behind them.
func TestStuckStreamTakesNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start(t, nil)
		now := time.Now()
		send := func(after time.Duration) bool { return s.Send(&call("default", now.Add(after)).Call) }
		for i := range MaxPending {
			if !send(0) {
				t.Fatalf("request %d was not sent", i)
			}
		}
		for _, test := range []struct {
			after time.Duration
			sent  bool
		}{{0, true}, {Stalled, true}, {Stalled + 1, false}, {time.Second, false}} {
			if sent := send(test.after); sent != test.sent {
				t.Errorf("%v after %d requests without an answer: sent is %t", test.after, MaxPending, sent)
			}
		}
		w.answers <- answer(1)
		synctest.Wait()
		if !send(time.Second) || send(time.Second+2*Stalled) {
			t.Error("an answer does not end the stall, or ends it permanently")
		}
		for id := range uint64(MaxPending + 3) {
			w.answers <- answer(id + 1)
		}
		synctest.Wait()
		if !send(time.Minute) {
			t.Error("a request was not sent after all answers")
		}
	})
}

// The bytes of pending requests are bounded, so that sending never blocks.
func TestPendingBytesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start(t, nil)
		large := string(make([]byte, 5000))
		sent := 0
		for s.Send(&call(large, time.Now()).Call) {
			sent++
		}
		if sent != MaxBytes/5000 || s.bytes > MaxBytes || !s.Send(&call("", time.Now()).Call) {
			t.Errorf("%d requests, %d bytes were sent", sent, s.bytes)
		}
		w.answers <- answer(1)
		synctest.Wait()
		if !s.Send(&call(large, time.Now()).Call) {
			t.Error("an answer makes no room")
		}
	})
}

// The end of a stream is the result of all pending calls, and of no other.
func TestEndOfStream(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"ended": nil, "failed": status.Error(codes.Unavailable, "connection reset")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, w := start(t, nil)
				w.failure = failure
				answered, forgotten, left := call("default", time.Now()), call("default", time.Now()), call("default", time.Now())
				for _, r := range []*result{answered, forgotten, left} {
					if !s.Send(&r.Call) {
						t.Fatal("not sent")
					}
				}
				w.answers <- answer(1)
				s.Forget(&forgotten.Call)
				w.answers <- nil
				synctest.Wait()
				ended, ok := errors.AsType[*Ended](left.err)
				if !ok || status.Code(left.err) != codes.Unavailable || !errors.Is(ended.Cause, cmp.Or(failure, io.EOF)) {
					t.Errorf("the pending call has the result %v", left.err)
				}
				if answered.calls != 1 || answered.err != nil || forgotten.calls != 0 || left.calls != 1 {
					t.Errorf("%d, %d, %d results", answered.calls, forgotten.calls, left.calls)
				}
				if s.Open() || s.Send(&call("default", time.Now()).Call) {
					t.Error("the stream is still open")
				}
			})
		})
	}
}

// After the announcement of the end, nothing more is sent, and what was sent is answered.
func TestAnnouncedEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var receipts []string
		s, w := start(t, func(a Answer) { receipts = append(receipts, string(a.GetReceipt())) })
		r := call("default", time.Now())
		s.Send(&r.Call)
		w.answers <- &snowraftv1.StreamIdsResponse{Receipt: []byte("seen")}
		synctest.Wait()
		if s.Open() || !w.finished || s.Send(&call("default", time.Now()).Call) {
			t.Error("the stream is still open")
		}
		w.answers <- answer(1)
		synctest.Wait()
		if r.first != 100 || len(receipts) != 1 || receipts[0] != "seen" {
			t.Errorf("answer %d, receipts %q", r.first, receipts)
		}
	})
}

// A stream that is finished before it begins sends nothing, and one that cannot begin is not open.
func TestStreamBeginsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answers: make(chan *snowraftv1.StreamIdsResponse)}
		s := New(new(snowraftv1.StreamIdsResponse), nil, 0)
		s.Finish()
		go func() { _ = s.Run(func() (grpc.ClientStream, error) { return w, nil }) }()
		if synctest.Wait(); s.Open() || !w.finished || s.Send(&call("default", time.Now()).Call) {
			t.Error("the stream is open")
		}
		close(w.answers)
		failed := New(new(snowraftv1.StreamIdsResponse), nil, 0)
		if err := failed.Run(func() (grpc.ClientStream, error) { return nil, io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) || failed.Open() {
			t.Errorf("Run() = %v", err)
		}
	})
}

// A stream without requests is finished after the time idle.
func TestUnusedStreamIsFinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start(t, nil)
		defer s.FinishUnused(time.Minute)()
		time.Sleep(50 * time.Second)
		s.Send(&call("default", time.Now()).Call)
		time.Sleep(50 * time.Second)
		if !s.Open() {
			t.Error("a used stream is finished")
		}
		time.Sleep(2 * time.Minute)
		if !s.Open() {
			t.Error("a stream with a pending request is finished")
		}
		w.answers <- answer(1)
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); s.Open() || !w.finished {
			t.Error("an unused stream is open")
		}
	})
}
