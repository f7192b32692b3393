package frontend

import (
	"context"
	"fmt"
	"time"

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
}

// newJob returns the function that makes the jobs of a stream; nil for a method whose streams carry no requests.
func newJob(method string) func(*muxed) mux.Job {
	switch method {
	case snowraftv1.IdService_StreamIds_FullMethodName:
		return func(m *muxed) mux.Job {
			req := &snowraftv1.StreamIdsRequest{Request: new(snowraftv1.GenerateIdsRequest)}
			return &idJob{job: job{muxed: m}, req: mux.IDRequest{StreamIdsRequest: req}}
		}
	case snowraftv1.SequenceService_StreamNumbers_FullMethodName:
		return func(m *muxed) mux.Job {
			req := &snowraftv1.StreamNumbersRequest{Request: new(snowraftv1.NextNumbersRequest)}
			return &numberJob{job: job{muxed: m}, req: mux.NumberRequest{StreamNumbersRequest: req}}
		}
	default:
		return nil
	}
}

// mux serves the requests on a stream until the client ends it.
func (s *Server) mux(ctx context.Context, ss grpc.ServerStream, rule *rpc.Rule, job func(*muxed) mux.Job) error {
	m := &muxed{
		Server: s, ctx: ctx, rule: rule, method: s.kernel.Of(kernel.GRPC, rule.Method[1:]),
		conn: connOf(ctx), relayed: trust.RelayOf(ctx) != "", caller: trust.PrincipalOf(ctx), refused: s.accept(ctx, rule.Method),
		stays: connectionOf(ctx).principal.IsMember(),
	}
	server := mux.NewServer(judgedStream{ss, ctx}, mux.Method{
		Job: func() mux.Job { return job(m) }, Invalid: wire.Invalid,
		Begin: func() bool { return m.conn.TryReserve(conn.CallPrice) }, End: func() { m.conn.Charge(-conn.CallPrice) },
		Announce: func(j mux.Job) {
			j.(interface{ fail(error) }).fail(wire.Status(rpc.NewError(rpc.ShuttingDown, fmt.Sprintf("this %s is shutting down; end the stream", s.cfg.What))))
		},
	})
	s.hear(ctx)
	return server.Serve(s.ending)
}

// job is the part of a request on a stream that is the same for all methods.
type job struct {
	*muxed
	began     time.Time // zero without a request
	ended     time.Time
	admission trust.Admission
	untried   bool     // tryReserve found no memory
	large     *counted // memory of a large answer; nil for a small one
	err       error    // error in the answer
	last      error    // see [mux.Job]
}

// admit begins the request. It returns an error unless the caller has the right to the request, and the request is valid. If the
// caller has no valid token, the request ends its stream, so that strangers do not take the places of all streams.
func (j *job) admit(began time.Time, req proto.Message) (err error) {
	j.began = began
	j.conn.Begin()
	if j.admission, err = j.kernel.AdmitCall(j.ctx, j.caller, j.rule, req); err != nil { // before other errors, so that no stream of a stranger stays
		if err = wire.Status(err); !j.stays && status.Code(err) == codes.Unauthenticated {
			j.last = err
		}
		return err
	}
	j.stays = j.stays || j.caller.IsAnonymous()
	if j.refused != nil {
		return j.refused
	}
	if size := proto.Size(req); size > maxMuxedBytes {
		return wire.Invalid(fmt.Sprintf("a request of %d bytes: expected at most %d bytes on a stream", size, maxMuxedBytes))
	}
	return j.rule.CheckKnown(req)
}

// tryReserve takes the memory of a large answer. It reports whether there is enough now.
func (j *job) tryReserve(req any) (ok bool) {
	size := weight(req)
	if size == 0 || j.conn == nil {
		return true
	}
	if ok = j.conn.TryReserve(size); ok {
		j.large = &counted{conn: j.conn, held: size, reserved: size}
	}
	return ok
}

// reserve waits for the memory that tryReserve did not get.
func (j *job) reserve(ctx context.Context, req any) error {
	size, err := j.conn.Reserve(ctx, weight(req))
	if err == nil && size > 0 {
		j.large = &counted{conn: j.conn, held: size, reserved: size}
	}
	return err
}

// message returns the message to send for an answer.
func (j *job) message(answer any) any {
	if j.large == nil {
		return answer
	}
	j.large.answer = answer
	return j.large
}

// done ends a request with the error of its answer, and counts it.
func (j *job) done(err error) (done bool, last error) {
	if err != nil && j.large != nil {
		j.large.drop()
		j.large = nil
	}
	j.err = wire.Status(err)
	took := time.Since(j.began)
	j.ended = j.began.Add(took)
	j.method.Served(j.ctx, nil, j.err, took)
	return true, j.last
}

// recovered turns a panic into the request's error.
func (j *job) recovered(err *error) {
	if r := recover(); r != nil {
		*err = j.panicked(j.rule.Method, r)
	}
}

func (j *job) fail(err error) { j.err = err }

// receipt returns the receipt for an answer; nil if none is due.
func (j *job) receipt() []byte {
	if j.behind.Receipts == nil || j.ended.Sub(j.handed) < receiptEvery {
		return nil
	}
	j.handed = j.ended
	return j.behind.Receipts.Hand()
}

func (j *job) clear() {
	if !j.began.IsZero() {
		j.conn.End()
	}
	*j = job{muxed: j.muxed}
}

// idJob is a request for IDs on a stream.
type idJob struct {
	job
	req    mux.IDRequest
	answer snowraftv1.StreamIdsResponse
	taking kernel.Taking
}

// Request implements mux.Job, as do the other methods.
func (j *idJob) Request() mux.Received { return j.req }

func (j *idJob) Try(began time.Time) (done bool, last error) {
	if err := j.try(began); err != nil || j.answer.Response != nil {
		return j.done(err)
	}
	return false, nil
}

func (j *idJob) try(began time.Time) (err error) {
	defer j.recovered(&err)
	if err := j.admit(began, j.req); err != nil {
		return err
	}
	if j.untried = !j.tryReserve(j.req.Request); j.untried {
		return nil
	}
	j.answer.Response, err = j.kernel.TryGenerate(&j.admission, &j.taking, j.req.Request)
	return err
}

func (j *idJob) Wait(ctx context.Context) { _, _ = j.done(j.wait(ctx)) }

func (j *idJob) wait(ctx context.Context) (err error) {
	defer j.recovered(&err)
	if !j.untried {
		j.answer.Response, err = j.kernel.GenerateRest(ctx, &j.admission, &j.taking)
		return err
	}
	if err := j.reserve(ctx, j.req.Request); err != nil {
		return err
	}
	j.answer.Response, err = j.kernel.Generate(ctx, j.admission, j.req.Request)
	return err
}

func (j *idJob) Answer() any {
	j.answer.Id, j.answer.Error, j.answer.Receipt = j.req.GetId(), status.Convert(j.err).Proto(), j.receipt()
	return j.message(&j.answer)
}

func (j *idJob) Clear() {
	j.req.Clear()
	j.answer.Response, j.answer.Error, j.answer.Receipt = nil, nil, nil
	j.taking.Reset()
	j.clear()
}

// numberJob is a request for numbers on a stream.
type numberJob struct {
	job
	req    mux.NumberRequest
	answer snowraftv1.StreamNumbersResponse
}

// Request implements mux.Job, as do the other methods.
func (j *numberJob) Request() mux.Received { return j.req }

func (j *numberJob) Try(began time.Time) (done bool, last error) {
	if err := j.try(began); err != nil || j.answer.Response != nil {
		return j.done(err)
	}
	return false, nil
}

// try answers a request for numbers that are in memory. Those of a relayed request are issued and counted for the other member.
func (j *numberJob) try(began time.Time) (err error) {
	defer j.recovered(&err)
	req := j.req.Request
	if err := j.admit(began, j.req); err != nil {
		return err
	}
	if j.untried = !j.tryReserve(req); j.untried || j.relayed || req.GetRequestId() != "" {
		return nil
	}
	j.answer.Response = j.kernel.TryNumbers(&j.admission, req)
	return nil
}

func (j *numberJob) Wait(ctx context.Context) { _, _ = j.done(j.wait(ctx)) }

func (j *numberJob) wait(ctx context.Context) (err error) {
	defer j.recovered(&err)
	if j.untried {
		if err := j.reserve(ctx, j.req.Request); err != nil {
			return err
		}
	}
	j.answer.Response, err = j.kernel.NextNumbers(ctx, j.admission, j.req.Request)
	return err
}

func (j *numberJob) Answer() any {
	j.answer.Id, j.answer.Error, j.answer.Receipt = j.req.GetId(), status.Convert(j.err).Proto(), j.receipt()
	return j.message(&j.answer)
}

func (j *numberJob) Clear() {
	j.req.Clear()
	j.answer.Response, j.answer.Error, j.answer.Receipt = nil, nil, nil
	j.clear()
}
