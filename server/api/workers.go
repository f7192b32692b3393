package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/names/nfc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
)

type workers struct {
	snowraftv1.UnimplementedWorkerServiceServer
	*Services
}

func (w workers) AcquireWorker(ctx context.Context, req *snowraftv1.AcquireWorkerRequest) (*snowraftv1.AcquireWorkerResponse, error) {
	nonce, err := nonceOf(req.GetNonce())
	if err != nil {
		return nil, err
	}
	if err := nfc.Check("holder name", req.GetHolder()); err != nil {
		return nil, wire.Invalid(err.Error())
	}
	if err := checkWindow(req.GetWindowMs()); err != nil {
		return nil, err
	}
	g, err := w.Member.AcquireWorker(ctx, allocator.AcquireRequest{
		Layout: cmp.Or(req.GetLayout(), snowflake.Default().Name()), Holder: req.GetHolder(), Nonce: nonce,
		NowMillis: req.GetClockAtMs(), Window: duration(req.GetWindowMs()), Below: req.GetBelow(),
		Process: allocator.Process{
			Host: req.GetProcess().GetHost(), ID: req.GetProcess().GetProcessId(),
			Kind: req.GetProcess().GetKind(), Version: req.GetProcess().GetVersion(),
		},
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.AcquireWorkerResponse{Grant: w.grantMessage(g)}, nil
}

func (w workers) ExtendWindow(ctx context.Context, req *snowraftv1.ExtendWindowRequest) (*snowraftv1.ExtendWindowResponse, error) {
	nonce, err := nonceOf(req.GetNonce())
	if err != nil {
		return nil, err
	}
	if err := checkWindow(req.GetWindowMs()); err != nil {
		return nil, err
	}
	g, err := w.Member.ExtendWindow(ctx, allocator.ExtendRequest{
		Layout: cmp.Or(req.GetLayout(), snowflake.Default().Name()), Worker: req.GetWorker(), Token: req.GetToken(), Nonce: nonce,
		Until: req.GetUntilTick(), ID: req.GetExtensionId(), NowMillis: req.GetClockAtMs(), Window: duration(req.GetWindowMs()),
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.ExtendWindowResponse{Grant: w.grantMessage(g)}, nil
}

func (w workers) ReleaseWorker(ctx context.Context, req *snowraftv1.ReleaseWorkerRequest) (*snowraftv1.ReleaseWorkerResponse, error) {
	nonce, err := nonceOf(req.GetNonce())
	if err != nil {
		return nil, err
	}
	err = w.Member.ReleaseWorker(ctx, allocator.ReleaseRequest{
		Layout: cmp.Or(req.GetLayout(), snowflake.Default().Name()), Worker: req.GetWorker(), Token: req.GetToken(), Nonce: nonce,
		Until: req.GetUntilTick(), Next: req.GetNextTick(),
	})
	if err != nil {
		return nil, err
	}
	return &snowraftv1.ReleaseWorkerResponse{}, nil
}

func (w workers) ListWorkers(ctx context.Context, req *snowraftv1.ListWorkersRequest) (*snowraftv1.ListWorkersResponse, error) {
	l, err := w.Member.Layout(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	var from uint64
	if t := req.GetPageToken(); t != "" {
		if from, err = strconv.ParseUint(t, 10, 64); err != nil {
			return nil, wire.Invalid(fmt.Sprintf("page_token %q: expected a next_page_token of ListWorkers", t))
		}
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	now := l.TickAt(w.Member.Clock().Majority())
	term := w.Member.Node().LeadingTerm()
	resp := &snowraftv1.ListWorkersResponse{Capacity: l.Workers()}
	w.Member.State().View(func(s *fsm.State) {
		if info, ok := s.LayoutInfo(l.Name()); ok {
			resp.Used = info.Used
		}
		for _, r := range s.Workers(l.Name(), from, size+1) {
			if len(resp.Workers) == size {
				resp.NextPageToken = strconv.FormatUint(r.Worker, 10)
				return
			}
			resp.Workers = append(resp.Workers, workerGrant(l, r.GrantRecord, r, now))
		}
	})
	if err := w.Member.Node().Verify(ctx, term); err != nil {
		return nil, err
	}
	return resp, nil
}

func (w workers) grantMessage(g allocator.Grant) *snowraftv1.Grant {
	c := w.Member.State().ConfigValue()
	return &snowraftv1.Grant{
		Worker: g.Worker, Token: g.Token, FromTick: g.From, UntilTick: g.Until, ObservedClockAtMs: g.ObservedMillis,
		WaitThresholdMs: c.GetWaitThresholdMs(), MaxWindowMs: g.MaxWindow.Milliseconds(),
		Swap: c.GetRollback() == commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
	}
}

// workerGrant returns the message of a grant. last is the last grant of the worker, and now is a tick.
func workerGrant(l *snowflake.Layout, r fsm.GrantRecord, last fsm.WorkerRecord, now int64) *snowraftv1.WorkerGrant {
	m := &snowraftv1.WorkerGrant{
		Worker: r.Worker, Holder: r.Holder, HolderTokenId: r.Owner, Token: r.Token,
		FromTick: r.From, UntilTick: r.Until, FromAtMs: l.MillisAt(r.From), UntilAtMs: l.MillisAt(r.Until),
	}
	m.Process = processMessage(r.Process)
	switch {
	case r.Token != last.Token: // the history does not say whether the earlier holder released it
		m.State = snowraftv1.WorkerState_WORKER_STATE_SUPERSEDED
	case last.Released:
		m.State = snowraftv1.WorkerState_WORKER_STATE_RELEASED
	case r.Until <= now:
		m.State = snowraftv1.WorkerState_WORKER_STATE_EXPIRED
	default:
		m.State = snowraftv1.WorkerState_WORKER_STATE_HELD
	}
	return m
}

func processMessage(p *fsm.Process) *snowraftv1.HolderProcess {
	if p == nil {
		return nil
	}
	return &snowraftv1.HolderProcess{Host: p.Host, ProcessId: p.ID, Kind: p.Kind, Version: p.Version}
}

func nonceOf(b []byte) (n allocator.Nonce, err error) {
	if len(b) != len(n) {
		return n, wire.Invalid(fmt.Sprintf("nonce of %d bytes: expected %d random bytes", len(b), len(n)))
	}
	copy(n[:], b)
	return n, nil
}

func checkWindow(millis int64) error {
	if millis <= 0 {
		return wire.Invalid(fmt.Sprintf("window_ms %d: expected at least 1", millis))
	}
	return nil
}

// duration converts milliseconds. It limits any value to the range from 0 to the maximum of time.Duration.
func duration(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
