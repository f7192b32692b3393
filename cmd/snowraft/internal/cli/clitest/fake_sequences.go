package clitest

import (
	"context"
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// sequences holds sequences in ascending order of their names, with the defaults that members fill in.
var sequences = []*snowraftv1.Sequence{
	{
		Name: "countdown", Start: proto.Int64(10), Increment: proto.Int64(-1), Min: proto.Int64(0), Max: proto.Int64(10),
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_NONE,
		BlockDurationMs: 10000, MinBlock: 100, MaxBlock: 10000000, CreatedAtMs: 1792418538000, Generation: 9,
		Last: proto.Int64(0),
	},
	{
		Name: "invoices", Start: proto.Int64(1), Increment: proto.Int64(1), Min: proto.Int64(1), Max: proto.Int64(999999),
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_MONTHLY, TimeZone: "Europe/Berlin",
		YearStarts:      "04-01",
		BlockDurationMs: 10000, MinBlock: 100, MaxBlock: 10000000,
		Format: "INV-{date:yyyyMM}-{seq:06}", Description: "outgoing <invoices>", CreatedAtMs: 1792418538000, Generation: 1 << 60,
		Period: "2026-11-01", Last: proto.Int64(100), Next: proto.Int64(101), Remaining: 999899,
	},
	{
		Name: "orders", Start: proto.Int64(1), Increment: proto.Int64(1), Min: proto.Int64(1), Max: proto.Int64(math.MaxInt64),
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_NONE,
		BlockDurationMs: 10000, MinBlock: 100, MaxBlock: 10000000, CreatedAtMs: 1792418538000, Generation: 7,
		LastAtMost: proto.Int64(300), Next: proto.Int64(301), Remaining: 9223372036854775507,
	},
}

// receipts is a gapless sequence, which only its own name and the order of open reservations return.
var receipts = &snowraftv1.Sequence{
	Name: "receipts", Start: proto.Int64(1), Increment: proto.Int64(1), Min: proto.Int64(1), Max: proto.Int64(math.MaxInt64),
	Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, LateMs: 3888000000,
	BlockDurationMs: 10000, MinBlock: 100, MaxBlock: 10000000, CreatedAtMs: 1792418538000, Generation: 8,
	Period: "2026-01-01", Last: proto.Int64(12), Next: proto.Int64(13), Remaining: math.MaxInt64 - 12,
	OpenReservations: 2, OldestOpenAtMs: 1792419000000, UnknownNumbers: 3,
	EndedPeriods: []*snowraftv1.EndedPeriod{
		{Period: "2024-01-01", Next: proto.Int64(8), Remaining: math.MaxInt64 - 7, Frozen: true},
		{Period: "2025-01-01"},
	},
}

func (f *API) sequence(name string) *snowraftv1.Sequence {
	if name == receipts.GetName() {
		return receipts
	}
	for _, s := range sequences {
		if s.GetName() == name {
			return s
		}
	}
	return sequences[len(sequences)-1]
}

func (f *API) CreateSequence(_ context.Context, r *snowraftv1.CreateSequenceRequest) (*snowraftv1.CreateSequenceResponse, error) {
	made := f.sequence(r.GetSequence().GetName())
	return &snowraftv1.CreateSequenceResponse{Sequence: made, UnreachedMembers: f.Unreached, Existed: made.GetName() == "countdown"}, nil
}

func (f *API) GetSequence(_ context.Context, r *snowraftv1.GetSequenceRequest) (*snowraftv1.GetSequenceResponse, error) {
	return &snowraftv1.GetSequenceResponse{Sequence: f.sequence(r.GetName())}, nil
}

// ListSequences returns one sequence per page.
func (f *API) ListSequences(_ context.Context, r *snowraftv1.ListSequencesRequest) (*snowraftv1.ListSequencesResponse, error) {
	resp := &snowraftv1.ListSequencesResponse{}
	for _, s := range sequences {
		switch {
		case s.GetName() <= r.GetPageToken() || !strings.HasPrefix(s.GetName(), r.GetPrefix()):
		case len(resp.GetSequences()) > 0:
			resp.NextPageToken = resp.GetSequences()[0].GetName()
			return resp, nil
		default:
			resp.Sequences = append(resp.Sequences, s)
		}
	}
	return resp, nil
}

// ListSequenceViews returns two pages: a sequence with an end or, ordered by open reservations, a gapless one; and one without.
func (f *API) ListSequenceViews(_ context.Context, r *snowraftv1.ListSequenceViewsRequest) (*snowraftv1.ListSequenceViewsResponse, error) {
	resp := &snowraftv1.ListSequenceViewsResponse{TotalSize: uint64(len(sequences))}
	if r.GetPageToken() == "" {
		resp.Sequences = []*snowraftv1.SequenceView{{Sequence: f.sequence("invoices"), RemainingRatio: new(0.99989), PeriodEndsAtMs: 1793491200000}}
		resp.NextPageToken = "invoices"
		if r.GetOrderBy() == "open" {
			resp.Sequences = []*snowraftv1.SequenceView{{Sequence: receipts, PeriodEndsAtMs: 1798761600000}}
		}
	} else {
		resp.Sequences = []*snowraftv1.SequenceView{{Sequence: f.sequence("orders")}}
	}
	return resp, nil
}

func (f *API) UpdateSequence(_ context.Context, r *snowraftv1.UpdateSequenceRequest) (*snowraftv1.UpdateSequenceResponse, error) {
	return &snowraftv1.UpdateSequenceResponse{Sequence: f.sequence(r.GetSequence().GetName()), UnreachedMembers: f.Unreached}, nil
}

func (f *API) SetNext(_ context.Context, r *snowraftv1.SetNextRequest) (*snowraftv1.SetNextResponse, error) {
	s := proto.CloneOf(f.sequence(r.GetSequence()))
	s.Next = new(r.GetNext())
	return &snowraftv1.SetNextResponse{Sequence: s, UnreachedMembers: f.Unreached}, nil
}

func (f *API) MoveSequence(_ context.Context, r *snowraftv1.MoveSequenceRequest) (*snowraftv1.MoveSequenceResponse, error) {
	s := proto.CloneOf(f.sequence(r.GetSequence()))
	s.Moved, s.Next, s.LastAtMost = true, new(s.GetNext()+100), nil
	return &snowraftv1.MoveSequenceResponse{Sequence: s, UnreachedMembers: f.Unreached}, nil
}

func (f *API) ResumeSequence(_ context.Context, r *snowraftv1.ResumeSequenceRequest) (*snowraftv1.ResumeSequenceResponse, error) {
	if strings.HasPrefix(r.GetSequence(), "thawed") {
		return nil, status.Error(codes.InvalidArgument, "sequence is not frozen")
	}
	s := proto.CloneOf(f.sequence(r.GetSequence()))
	s.Name = r.GetSequence()
	s.Deleted = r.GetSequence() == "countdown"
	return &snowraftv1.ResumeSequenceResponse{Sequence: s, UnreachedMembers: f.Unreached}, nil
}

// ListFrozenSequences returns the sequences in two pages.
func (f *API) ListFrozenSequences(_ context.Context, r *snowraftv1.ListFrozenSequencesRequest) (*snowraftv1.ListFrozenSequencesResponse, error) {
	if r.GetPageToken() == "" {
		return &snowraftv1.ListFrozenSequencesResponse{Sequences: []*snowraftv1.Sequence{f.sequence("countdown")}, NextPageToken: "countdown"}, nil
	}
	return &snowraftv1.ListFrozenSequencesResponse{Sequences: []*snowraftv1.Sequence{f.sequence("orders")}}, nil
}

func (f *API) Supersede(_ context.Context, r *snowraftv1.SupersedeRequest) (*snowraftv1.SupersedeResponse, error) {
	return &snowraftv1.SupersedeResponse{UnreachedMembers: f.Unreached, Restoration: &snowraftv1.Restoration{
		Ancestors: []string{r.GetClusterId()}, Index: 1882618233618432, RestoredAtMs: 1795403036444,
		FloorAtMs: 1795403637444, IssuesAtMs: 1795403636445, Superseded: []string{r.GetClusterId()},
	}}, nil
}

// NextNumbers issues 7, 8, ... from orders, and 10, 9, ... from other sequences. The numbers of
// invoices have a format.
func (f *API) NextNumbers(_ context.Context, r *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	resp := &snowraftv1.NextNumbersResponse{Sequence: r.GetSequence(), First: 7, Count: r.GetCount(), Increment: 1}
	if r.GetSequence() != "orders" {
		resp.First, resp.Increment = 10, -1
	}
	if f.Short {
		resp.Count--
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	resp.First += f.given * resp.GetIncrement()
	f.given += int64(r.GetCount())
	if r.GetSequence() == "invoices" {
		resp.Format, resp.TimeZone, resp.IssuedAtMs = `"{date:yyyyMMdd}"{seq:03}`, "Europe/Berlin", 1792535400000 // half an hour after midnight there
		if r.GetCount() <= 1000 {
			for i := range int64(r.GetCount()) {
				n, sign := resp.GetFirst()+i*resp.GetIncrement(), ""
				if n < 0 {
					n, sign = -n, "-"
				}
				resp.Texts = append(resp.Texts, fmt.Sprintf(`"20261021"%s%03d`, sign, n))
			}
		}
	}
	return resp, nil
}

func (f *API) GetLast(_ context.Context, r *snowraftv1.GetLastRequest) (*snowraftv1.GetLastResponse, error) {
	resp := &snowraftv1.GetLastResponse{}
	if r.GetSequence() == "orders" {
		resp.Last = proto.Int64(-9223372036854775808)
	}
	return resp, nil
}

// DecodeText decodes every text to the number 17, which the sequence "vouchers" has granted, and no other.
func (f *API) DecodeText(_ context.Context, r *snowraftv1.DecodeTextRequest) (*snowraftv1.DecodeTextResponse, error) {
	resp := &snowraftv1.DecodeTextResponse{
		Sequence: r.GetSequence(), Text: r.GetText(), Number: 17, Period: "2026-01-01", Format: "V-{date:yyyy}-{code:base32:8}",
		State: snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED,
	}
	if r.GetSequence() == "vouchers" {
		resp.State = snowraftv1.GrantState_GRANT_STATE_GRANTED
	}
	return resp, nil
}
