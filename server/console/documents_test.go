package console_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	noon   = 1_800_000_000_000 // time of the overview; Unix ms
	minute = 60_000
)

// documents is the state that the fakes of services for documents share.
type documents struct {
	mu         sync.Mutex
	leaderless bool // no leader answers
}

// lead takes away the leader, or returns it.
func (d *documents) lead(leader bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leaderless = !leader
}

func (d *documents) asLeader() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.leaderless {
		return rpcError(rpc.NewError(rpc.NoLeader, "no leader: election in progress"))
	}
	return nil
}

// sequences is a fake SequenceService with a gapless sequence, and a strict one with codes.
type sequences struct {
	snowraftv1.UnimplementedSequenceServiceServer
	*documents
}

func (s sequences) GetSequence(_ context.Context, req *snowraftv1.GetSequenceRequest) (*snowraftv1.GetSequenceResponse, error) {
	if err := s.asLeader(); err != nil && !req.GetLocal() {
		return nil, err
	}
	switch req.GetName() {
	case "inv<o>ices":
		return &snowraftv1.GetSequenceResponse{Sequence: gapless()}, nil
	case "vouchers":
		return &snowraftv1.GetSequenceResponse{Sequence: vouchers()}, nil
	}
	return nil, rpcError(rpc.NewError(rpc.UnknownSequence, "sequence does not exist"))
}

func gapless() *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name: "inv<o>ices", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Start: new(int64(1)), Increment: new(int64(1)), Max: new(int64(1<<63 - 1)),
		Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, Period: "2026-01-01", Last: new(int64(12)), Remaining: 1 << 62, LateMs: 45 * 86_400_000,
		OpenReservations: 2, OldestOpenAtMs: noon - 90*minute, Template: "inv*",
		EndedPeriods: []*snowraftv1.EndedPeriod{{Period: "2024-01-01", Next: new(int64(8)), Remaining: 5, Frozen: true}, {Period: "2025-01-01"}},
	}
}

func vouchers() *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name: "vouchers", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Start: new(int64(1)), Increment: new(int64(1)), Max: new(int64(999_999)),
		Last: new(int64(950_000)), Remaining: 49_999, Format: "V-{code:digits:6}",
	}
}

// reservations is a fake ReservationService.
type reservations struct {
	snowraftv1.UnimplementedReservationServiceServer
	*documents
}

func (r reservations) ListReservations(_ context.Context, req *snowraftv1.ListReservationsRequest) (*snowraftv1.ListReservationsResponse, error) {
	if err := r.asLeader(); err != nil {
		return nil, err
	}
	if req.GetPageToken() != "" {
		return &snowraftv1.ListReservationsResponse{}, nil
	}
	return &snowraftv1.ListReservationsResponse{NextPageToken: "27~2", Reservations: []*snowraftv1.Reservation{
		{Key: "order<1>", Number: 11, Text: "INV-11", Period: "2026-01-01", Reservation: 27, Attempt: 3, ReservedAtMs: noon - 90*minute, Holder: "token 17 (bil<l>ing)"},
		{Key: "order-2", Number: 12, Text: "INV-12", Period: "2026-01-01", Reservation: 29, Attempt: 1, ReservedAtMs: noon - minute, Holder: "open"},
	}}, nil
}

func (r reservations) ListPeriods(_ context.Context, _ *snowraftv1.ListPeriodsRequest) (*snowraftv1.ListPeriodsResponse, error) {
	if err := r.asLeader(); err != nil {
		return nil, err
	}
	return &snowraftv1.ListPeriodsResponse{Periods: []*snowraftv1.PeriodSummary{
		{Period: "2026-01-01", First: new(int64(1)), Last: new(int64(12)), Confirmed: 8, Void: 1, Taken: 1, Open: 2},
		{Period: "2025-01-01", Closed: true},
		{Period: "2024-01-01", First: new(int64(1)), Last: new(int64(7)), Confirmed: 7, Cut: true},
	}}, nil
}

// templates is a fake TemplateService.
type templates struct {
	snowraftv1.UnimplementedTemplateServiceServer
}

func (templates) ListTemplates(_ context.Context, req *snowraftv1.ListTemplatesRequest) (*snowraftv1.ListTemplatesResponse, error) {
	if req.GetPageToken() != "" {
		return &snowraftv1.ListTemplatesResponse{}, nil
	}
	settings := &snowraftv1.Sequence{
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, Start: new(int64(1)), Increment: new(int64(1)), Format: "<{name:2}>-{seq}",
	}
	return &snowraftv1.ListTemplatesResponse{NextPageToken: "t/*&", Templates: []*snowraftv1.Template{
		{Pattern: "a<b>/*", Settings: settings, Quota: 10, Sequences: 10},
		{Pattern: "n/*", Settings: settings, Quota: 100, Sequences: 95},
		{Pattern: "s/*", Settings: &snowraftv1.Sequence{Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}, Suspended: true, Sequences: 1234},
		{Pattern: "t/*", Settings: settings, ResumedStart: new(int64(100_000))},
	}}, nil
}

// backfills is a fake BackfillService, in which the layout default has a past.
type backfills struct {
	snowraftv1.UnimplementedBackfillServiceServer
}

func (backfills) ListBackfills(_ context.Context, req *snowraftv1.ListBackfillsRequest) (*snowraftv1.ListBackfillsResponse, error) {
	if req.GetLayout() != "legacy" {
		return nil, rpcError(rpc.NewError(rpc.NoPast, "layout was created without a past"))
	}
	resp := &snowraftv1.ListBackfillsResponse{PastUntilAtMs: noon, NextJob: 7, Capacity: 1024, Closed: req.GetPageToken() != ""}
	if !resp.GetClosed() {
		resp.NextPageToken = "2"
		resp.Backfills = []*snowraftv1.Backfill{
			{Job: 0, Holder: "arch<i>ve", CreatedAtMs: noon, PositionAtMs: noon - 1000*minute},
			{Job: 1, Holder: "import", CreatedAtMs: noon, PositionAtMs: noon - 2000*minute, Ended: true},
		}
	}
	return resp, nil
}

func TestSequenceShowsItsReservations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const address = "/console/sequence?name=inv%3Co%3Eices"
	page := r.ask("GET", address, "").Body.String()
	r.wants(page, "<h1>inv&lt;o&gt;ices</h1>", "Number open for over an hour", "Gapless", "began with template inv*", "2 ended periods known, 1 closed",
		"order&lt;1&gt;", "token 17 (bil&lt;l&gt;ing)", "INV-11", "unknown, because the cluster is open", ">1 h 30 min ago<", "late numbers for 45 days after a period",
		`href="../console/sequence?after=27~2&amp;name=inv%3Co%3Eices"`, `id="account-2024-01-01"`, "Cut by a restore", "Closed by a restore", "No numbers left",
		`<a href="../console/sequences" aria-current="page">Sequences</a>`, `data-again="../console/sequence?name=inv%3Co%3Eices"`, "!style=", "!ZgotmplZ", "!<o>")
	if newest, oldest := strings.Index(page, `id="account-2026-01-01"`), strings.Index(page, `id="account-2024-01-01"`); newest < 0 || newest > oldest {
		t.Error("the newest period is not the first")
	}
	r.wants(r.ask("GET", address+"&after=x", "").Body.String(), "No number is open on this page", "First page")
	r.wants(r.ask("GET", "/console/sequence?name=vouchers", "").Body.String(), "Few numbers left", "49\u202f999 of 999\u202f999 codes", "!Open reservations</h2>")
	r.wants(r.ask("GET", "/console/sequence?name=none", "").Body.String(), "Sequence does not exist.")
	r.wants(r.ask("GET", "/console/sequence", "").Body.String(), "No sequence is chosen")

	r.documents.lead(false)
	r.wants(r.ask("GET", address, "").Body.String(), "Gapless", "No leader: election in progress.", "!order&lt;1&gt;")
	r.documents.lead(true)
}

func TestTemplatesShowTheirState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants(r.ask("GET", "/console/templates", "").Body.String(), "a&lt;b&gt;/*", "Quota used up", "snowraft template update &#39;a&lt;b&gt;/*&#39; --quota N", "10 of 10",
		"Quota nearly used up", "95 of 100", "Suspended by a restore", "snowraft template resume &#39;s/*&#39; --start N", "1\u202f234", "Relaxed, never starts over",
		"resumed at start 100\u202f000", "Begins sequences", "Gapless, starts over yearly", "&lt;{name:2}&gt;-{seq}", `href="../console/sequences?q=s%2F&amp;sort=name"`,
		`href="../console/templates?after=t%2F%2A%26"`, "!First page", "!style=", "!ZgotmplZ")
	r.wants(r.ask("GET", "/console/templates?after=t", "").Body.String(), "There are no more templates", "First page")
}

func TestWindowsListBackfillJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.wants(r.ask("GET", "/console/windows", "").Body.String(), "!Backfill jobs</h2>")
	page := r.ask("GET", "/console/windows?layout=legacy", "").Body.String()
	r.wants(page, "Backfill jobs</h2>", "ends at 2027-01-15 08:00:00.000", "the next job is 7 of 1\u202f024", "Job 0</th>", "arch&lt;i&gt;ve", "2027-01-14 15:20:00.000", "ended</td>",
		"snowraft backfill list legacy", `href="../console/windows?job=2&amp;layout=legacy"`, "!backfill resume")
	r.wants(r.ask("GET", "/console/windows?layout=legacy&job=2", "").Body.String(), "Closed by a restore", "snowraft backfill resume legacy --after JOB", "First page")
}

// A viewer sees only the documents for which its token has the rights.
func TestDocumentsNeedTheirScopes(t *testing.T) {
	t.Parallel()
	r, tokens, reader, _ := secured(t)
	ask := func(path string) string {
		return r.ask("GET", path, "", "Authorization: Bearer "+reader).Body.String()
	}
	r.wants(ask("/console/sequence?name=vouchers"), "seq:read", "!999\u202f999")
	r.wants(ask("/console/sequences"), "seq:read", "!sequences-list")
	r.wants(ask("/console/templates"), "seq:read", "!templates-list")
	r.wants(ask("/console/windows?layout=legacy"), "windows-list", "!Backfill jobs</h2>", "!ids:backfill", "!arch")

	record, _ := tokens.Token(1)
	changed := *record
	changed.Scopes = append(changed.Scopes, "seq:read:vouchers")
	tokens.change(1, &changed)
	r.wants(ask("/console/sequence?name=vouchers"), "999\u202f999")
	r.wants(ask("/console/sequence?name=inv%3Co%3Eices"), "seq:read", "!order")
	r.wants(ask("/console/templates"), "seq:read", "!templates-list")
}
