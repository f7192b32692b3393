package frontend

import (
	"context"
	"fmt"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/mux"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// maxMuxedBytes is the largest size of a request on a stream. A request holds at most two names.
const maxMuxedBytes = 4 << 10

// muxed is a stream that carries the requests of a unary method; see [mux.Server].
type muxed struct {
	*Server
	ctx     context.Context // the caller's
	rule    *rpc.Rule
	method  *kernel.Method
	conn    *conn.Conn
	caller  *trust.Principal
	relayed bool
	refused error     // error of all requests
	handed  time.Time // time of the last receipt; used by Answer

	// stays reports that a request without a valid token does not end the stream: the stream is a member's, which carries the
	// requests of others, or that of an anonymous caller that had the right to an earlier request. Used by Try.
	stays bool

	server *mux.Server
}

// newRequest returns the function that makes the requests of a stream; nil for a method whose streams carry no requests.
func newRequest(method string) func() request {
	switch method {
	case snowraftv1.IdService_StreamIds_FullMethodName:
		return func() request {
			return &idRequest{in: mux.IDRequest{StreamIdsRequest: &snowraftv1.StreamIdsRequest{Request: new(snowraftv1.GenerateIdsRequest)}}}
		}
	case snowraftv1.SequenceService_StreamNumbers_FullMethodName:
		return func() request {
			return &numberRequest{in: mux.NumberRequest{StreamNumbersRequest: &snowraftv1.StreamNumbersRequest{Request: new(snowraftv1.NextNumbersRequest)}}}
		}
	default:
		return nil
	}
}

// mux serves the requests on a stream until the client ends it.
func (s *Server) mux(ctx context.Context, ss grpc.ServerStream, rule *rpc.Rule, newRequest func() request) error {
	m := &muxed{
		Server: s, ctx: ctx, rule: rule, method: s.kernel.Of(kernel.GRPC, rule.Method[1:]),
		conn: connOf(ctx), relayed: trust.RelayOf(ctx) != "", caller: trust.PrincipalOf(ctx), refused: s.accept(ctx, rule.Method),
		stays: connectionOf(ctx).principal.IsMember(),
	}
	m.server = mux.NewServer(judgedStream{ss, ctx}, mux.Method{
		Job: func() mux.Job { return &job{muxed: m, request: newRequest()} }, Invalid: wire.Invalid,
		Begin: func() bool { return m.conn.TryReserve(conn.CallPrice) }, End: func() { m.conn.Charge(-conn.CallPrice) },
		Announce: func(j mux.Job) {
			j.(*job).err = wire.Status(rpc.NewError(rpc.ShuttingDown, fmt.Sprintf("this %s is shutting down; end the stream", s.cfg.What)))
		},
	})
	s.hear(ctx)
	return m.server.Serve(s.ending)
}

// request is a request on a stream, with room for its answer.
type request interface {
	message() mux.Received // the message into which the request is read
	body() any             // the request in it
	// try serves the request if that needs no wait, and wait serves it otherwise, unless the request has begun: then it calls
	// numbered later, and nothing else touches the job.
	try(j *job) (begun bool, err error)
	wait(ctx context.Context, j *job) error
	served() bool
	answer(id uint64, failed *spb.Status, receipt []byte) any
	clear()
}

// job is a request on a stream. It implements [mux.Job].
type job struct {
	*muxed
	request
	began     time.Time // zero without a request
	until     time.Time
	ended     time.Time
	admission trust.Admission
	untried   bool     // no memory was free for the answer
	large     *counted // memory of a large answer; nil for a small one
	err       error    // error in the answer
	last      error    // see [mux.Job]
}

func (j *job) Request() mux.Received { return j.message() }

func (j *job) Try(began, until time.Time) (mux.Outcome, error) {
	j.began, j.until = began, until
	begun, err := j.begin()
	switch {
	case begun:
		return mux.Begun, nil
	case err != nil || j.served():
		j.done(err)
		return mux.Done, j.last
	default:
		return mux.Waits, nil
	}
}

// begin tries the request. It returns an error unless the caller has the right to the request, and the request is valid. If the
// caller has no valid token, the request ends its stream, so that strangers do not take the memory of all streams.
func (j *job) begin() (begun bool, err error) {
	defer j.recovered(&err)
	j.conn.Begin()
	req := j.message()
	if j.admission, err = j.kernel.AdmitCall(j.ctx, j.caller, j.rule, req); err != nil { // before other errors, so that no stream of a stranger stays
		if err = wire.Status(err); !j.stays && status.Code(err) == codes.Unauthenticated {
			j.last = err
		}
		return false, err
	}
	j.stays = j.stays || j.caller.IsAnonymous()
	if j.refused != nil {
		return false, j.refused
	}
	if size := proto.Size(req); size > maxMuxedBytes {
		return false, wire.Invalid(fmt.Sprintf("a request of %d bytes: expected at most %d bytes on a stream", size, maxMuxedBytes))
	}
	if err := j.rule.CheckKnown(req); err != nil {
		return false, err
	}
	if size := j.weight(j.body()); size > 0 && j.conn != nil {
		if j.untried = !j.conn.TryReserve(size); j.untried {
			return false, nil
		}
		j.large = &counted{conn: j.conn, held: size, reserved: size}
	}
	return j.try(j)
}

func (j *job) Wait(ctx context.Context) { j.done(j.rest(ctx)) }

// rest serves a request that begin did not serve, after a wait for memory if there was none.
func (j *job) rest(ctx context.Context) (err error) {
	defer j.recovered(&err)
	if j.untried {
		size, err := j.conn.Reserve(ctx, j.weight(j.body()))
		if err != nil {
			return err
		}
		j.large = &counted{conn: j.conn, held: size, reserved: size}
		j.until = time.Time{}
		if _, err := j.try(j); err != nil || j.served() {
			return err
		}
	}
	return j.wait(ctx, j)
}

// done ends a request with the error of its answer, and counts it.
func (j *job) done(err error) {
	if err != nil && j.large != nil {
		j.large.drop()
		j.large = nil
	}
	j.err = wire.Status(err)
	took := time.Since(j.began)
	j.ended = j.began.Add(took)
	j.method.Served(j.ctx, nil, j.err, took)
}

// recovered turns a panic into the request's error.
func (j *job) recovered(err *error) {
	if r := recover(); r != nil {
		*err = j.panicked(j.rule.Method, r)
	}
}

func (j *job) Answer() any {
	answer := j.answer(j.message().GetId(), status.Convert(j.err).Proto(), j.receipt())
	if j.large == nil {
		return answer
	}
	j.large.answer = answer
	return j.large
}

// receipt returns the receipt for an answer; nil if none is due.
func (j *job) receipt() []byte {
	if j.behind.Receipts == nil || j.ended.Sub(j.handed) < receiptEvery {
		return nil
	}
	j.handed = j.ended
	return j.behind.Receipts.Hand()
}

func (j *job) Clear() {
	if !j.began.IsZero() {
		j.conn.End()
	}
	j.clear()
	*j = job{muxed: j.muxed, request: j.request}
}

// idRequest is a request for IDs.
type idRequest struct {
	in     mux.IDRequest
	out    snowraftv1.StreamIdsResponse
	taking kernel.Taking
}

func (r *idRequest) message() mux.Received { return r.in }
func (r *idRequest) body() any             { return r.in.Request }
func (r *idRequest) served() bool          { return r.out.Response != nil }

func (r *idRequest) try(j *job) (begun bool, err error) {
	r.out.Response, err = j.kernel.TryGenerate(&j.admission, &r.taking, r.in.Request)
	return false, err
}

func (r *idRequest) wait(ctx context.Context, j *job) (err error) {
	r.out.Response, err = j.kernel.GenerateRest(ctx, &j.admission, &r.taking)
	return err
}

func (r *idRequest) answer(id uint64, failed *spb.Status, receipt []byte) any {
	r.out.Id, r.out.Error, r.out.Receipt = id, failed, receipt
	return &r.out
}

func (r *idRequest) clear() {
	r.in.Clear()
	r.out.Response, r.out.Error, r.out.Receipt = nil, nil, nil
	r.taking.Reset()
}

// numberRequest is a request for numbers.
type numberRequest struct {
	in  mux.NumberRequest
	out snowraftv1.StreamNumbersResponse
	job *job               // set for a request that waits without a goroutine
	end context.CancelFunc // cancels the context of its wait
}

func (r *numberRequest) message() mux.Received { return r.in }
func (r *numberRequest) body() any             { return r.in.Request }
func (r *numberRequest) served() bool          { return r.out.Response != nil }

// try takes numbers from memory or begins a call that callers share. Those of a relayed request are issued and counted for the other
// member. After a wait for memory, wait does all that.
func (r *numberRequest) try(j *job) (begun bool, err error) {
	if j.relayed || r.in.Request.GetRequestId() != "" || kernel.OfPeriod(r.in.Request) || j.until.IsZero() {
		return false, nil
	}
	r.job = j
	resp, begun := j.kernel.BeginNumbers(&j.admission, r.in.Request, r)
	if !begun {
		r.out.Response = resp
	}
	return begun, nil
}

// Wait implements [kernel.Waiter].
func (r *numberRequest) Wait() (ctx context.Context, ok bool) {
	if !r.job.conn.TryReserve(conn.CallPrice) {
		return nil, false
	}
	ctx, r.end = context.WithDeadline(r.job.ctx, r.job.until)
	return ctx, true
}

// Leave implements [kernel.Waiter].
func (r *numberRequest) Leave() {
	r.end()
	r.job.conn.Charge(-conn.CallPrice)
}

// Numbered implements [kernel.Waiter].
func (r *numberRequest) Numbered(n kernel.Numbering, err error) {
	r.Leave()
	if err == nil {
		err = r.write(n)
	}
	r.job.done(err)
	r.job.server.End(r.job)
}

func (r *numberRequest) write(n kernel.Numbering) (err error) {
	defer r.job.recovered(&err) // the goroutine is not this request's
	r.out.Response = wire.NumbersResponse(r.in.Request.GetSequence(), n, true)
	return nil
}

func (r *numberRequest) wait(ctx context.Context, j *job) (err error) {
	r.out.Response, err = j.kernel.NextNumbers(ctx, j.admission, r.in.Request)
	return err
}

func (r *numberRequest) answer(id uint64, failed *spb.Status, receipt []byte) any {
	r.out.Id, r.out.Error, r.out.Receipt = id, failed, receipt
	return &r.out
}

func (r *numberRequest) clear() {
	r.in.Clear()
	r.job, r.end = nil, nil
	r.out.Response, r.out.Error, r.out.Receipt = nil, nil, nil
}
