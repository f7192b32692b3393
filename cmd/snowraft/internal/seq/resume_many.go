package seq

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// resumedAtOnce is the greatest number of calls in flight.
const resumedAtOnce = 64

// resumed is the outcome of a ResumeSequence call.
type resumed struct {
	resp *snowraftv1.ResumeSequenceResponse
	err  error
}

// resumeAll sends the requests, at most [resumedAtOnce] at a time, and prints the responses in the order of the requests.
// After a refusal it sends the rest. After any other failure it stops, because the next calls would fail too. It returns the
// first error.
func resumeAll(ctx context.Context, a *cli.App, remote *cli.Remote, out *cli.Printer, requests []*snowraftv1.ResumeSequenceRequest) error {
	sent := make(chan chan resumed, resumedAtOnce-1)
	stop := make(chan struct{})
	go func() {
		defer close(sent)
		for _, req := range requests {
			outcome := make(chan resumed, 1)
			select {
			case <-stop:
				return
			case sent <- outcome:
			}
			go func() {
				resp, err := remote.Sequences.ResumeSequence(ctx, req)
				outcome <- resumed{resp, err}
			}()
		}
	}()
	var first error
	done, failed, stopped := 0, 0, false
	progress := a.Progress()
	for outcome := range sent {
		r := <-outcome
		req := requests[done+failed]
		if r.err == nil {
			done++
			r.err = printResumed(a, out, req, r.resp)
		} else {
			failed++
		}
		if r.err != nil && first == nil {
			if first = r.err; len(requests) > 1 {
				first = fmt.Errorf("sequence %q, %d of %d: %w", req.GetSequence(), done+failed, len(requests), r.err)
			}
		}
		if r.err != nil && !stopped && !refused(r.err) {
			close(stop)
			stopped = true
		}
		progress.Show("resumed %d of %d sequences", done, len(requests))
	}
	if first != nil && len(requests) > 1 {
		a.Warn("resumed %d of %d sequences", done, len(requests))
	}
	return first
}

// refused reports whether an error concerns one sequence only.
func refused(err error) bool {
	switch rpc.FromError(err).Code {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound, codes.OutOfRange, codes.Aborted:
		return true
	default:
		return false
	}
}
