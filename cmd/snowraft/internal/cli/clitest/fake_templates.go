package clitest

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// template is the only template of a fake.
var template = &snowraftv1.Template{
	Pattern: "invoices/*", Quota: 1000, CreatedAtMs: 1792418538000, Generation: 12, Sequences: 3, ResumedStart: proto.Int64(5000),
	Settings: &snowraftv1.Sequence{
		Start: proto.Int64(1), Increment: proto.Int64(1), Min: proto.Int64(1), Max: proto.Int64(999999),
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, YearStarts: "04-01",
		BlockDurationMs: 10000, MinBlock: 100, MaxBlock: 10000000, Format: "INV-{name:2}-{fy:yyyy}-{seq:05}", Description: "one for each tenant",
	},
}

// suspended is a template that a restore suspended.
var suspended = &snowraftv1.Template{
	Pattern: "shops/*/orders", Sequences: 12, Suspended: true,
	Settings: &snowraftv1.Sequence{Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, Description: "orders of each shop"},
}

// applied holds the outcomes of an application, one per page.
var applied = []*snowraftv1.ApplyTemplateResponse{
	{Sequences: []*snowraftv1.AppliedSequence{{Name: "invoices/acme", Fields: []string{"max", "format"}}}, NextPageToken: "invoices/acme", Generation: 12},
	{Sequences: []*snowraftv1.AppliedSequence{{
		Name: "invoices/best", Fields: []string{"format"}, Reason: rpc.WouldRepeat, Error: "the formats can write two numbers alike",
	}}, NextPageToken: "invoices/best", Generation: 12},
	{Unchanged: 1, Generation: 12},
}

// ApplyTemplate returns one outcome per page. All pages after the first must name the generation of the first. Nothing is
// refused with force_format.
func (f *API) ApplyTemplate(_ context.Context, r *snowraftv1.ApplyTemplateRequest) (*snowraftv1.ApplyTemplateResponse, error) {
	page := map[string]int{"": 0, "invoices/acme": 1, "invoices/best": 2}[r.GetPageToken()]
	if page > 0 && r.GetExpectedGeneration() != template.GetGeneration() {
		return nil, &rpc.Error{Code: codes.Aborted, Reason: rpc.GenerationMismatch, Message: "template has another generation"}
	}
	resp := proto.CloneOf(applied[page])
	for _, s := range resp.GetSequences() {
		if r.GetForceFormat() {
			s.Reason, s.Error = "", ""
		}
	}
	return resp, nil
}
