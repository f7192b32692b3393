//go:build browser

package processtest

import (
	"testing"

	"github.com/chromedp/chromedp"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// number makes what a cluster has that numbers documents: the gapless sequence invoices with three open reservations, the
// template tenants/* with two of its three sequences, the codes vouchers of which few are left, and the layout legacy with a past
// and two jobs.
func (m *member) number(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const gapless, yearly = snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY
	for _, s := range []*snowraftv1.Sequence{
		{Name: "invoices", Mode: gapless, Reset_: yearly, Format: "INV-{date:yyyy}-{seq:05}", LateMs: 45 * 86_400_000},
		{Name: "vouchers", Format: "V-{code:digits:6}"},
	} {
		_, err := m.numbers.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: s})
		must(err)
	}
	reservations := snowraftv1.NewReservationServiceClient(m.conn)
	_, err := reservations.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: "invoices", Keys: []string{"order-1001", "order-1002", "order-1003"}})
	must(err)
	_, err = reservations.TakeNumbers(ctx, &snowraftv1.TakeNumbersRequest{Sequence: "invoices", Number: 4711, Reason: "on paper"})
	must(err)
	_, err = snowraftv1.NewTemplateServiceClient(m.conn).CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{Template: &snowraftv1.Template{
		Pattern: "tenants/*", Quota: 3, Settings: &snowraftv1.Sequence{Reset_: yearly, Format: "INV-{name:2}-{date:yyyy}-{seq:05}", Description: "invoices of each tenant"},
	}})
	must(err)
	for _, name := range []string{"tenants/acme", "tenants/initech"} {
		_, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
		must(err)
	}
	for range 19 {
		_, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "vouchers", Count: 49_000})
		must(err)
	}
	_, err = snowraftv1.NewLayoutServiceClient(m.conn).CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
		Name: "legacy", EpochAtMs: 1_420_070_400_000, UnitMs: 1, Past: true, Fields: []*snowraftv1.Field{
			{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41}, {Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 10},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
		},
	}})
	must(err)
	backfills := snowraftv1.NewBackfillServiceClient(m.conn)
	for _, holder := range []string{"archive-2019", "import"} {
		_, err := backfills.StartBackfill(ctx, &snowraftv1.StartBackfillRequest{Layout: "legacy", Holder: holder})
		must(err)
	}
	_, err = backfills.EndBackfill(ctx, &snowraftv1.EndBackfillRequest{Layout: "legacy", Job: 1})
	must(err)
}

// The pages follow a reservation from the draw to its confirmation, the use of a quota, and a job of the past.
func TestConsoleFollowsDocuments(t *testing.T) {
	m := startCluster(t, 1)[0]
	m.number(t)
	b := newTab(t)
	b.open(m.consoleOf() + "console/sequences?sort=open")
	b.says("#sequences-list tbody tr", "3 open, oldest")
	b.says("#sequences-list", "Few numbers left")
	b.says("#sequences-list", "of 999\u202f999 codes")
	b.do(chromedp.Click("#sequences-list tbody tr a.name"))
	b.says("#sequence-open", "INV-2")
	b.says("#sequence-open", "order-1002")
	b.says("#sequence-accounts", "4707")

	reservations := snowraftv1.NewReservationServiceClient(m.conn)
	list, err := reservations.ListReservations(t.Context(), &snowraftv1.ListReservationsRequest{Sequence: "invoices"})
	if err != nil {
		t.Fatal(err)
	}
	var claims []*snowraftv1.Claim
	for _, r := range list.GetReservations() {
		claims = append(claims, &snowraftv1.Claim{Key: r.GetKey(), Reservation: r.GetReservation(), Attempt: r.GetAttempt()})
	}
	if _, err := reservations.ConfirmNumbers(t.Context(), &snowraftv1.ConfirmNumbersRequest{Sequence: "invoices", Claims: claims}); err != nil {
		t.Fatal(err)
	}
	b.says("#sequence-open", "No number is open")

	b.open(m.consoleOf() + "console/templates")
	b.says("#templates-list", "2 of 3")
	if _, err := m.numbers.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "tenants/umbrella", Count: 1}); err != nil {
		t.Fatal(err)
	}
	b.says("#templates-list", "Quota used up")

	b.open(m.consoleOf() + "console/windows?layout=legacy")
	b.says("#windows-past", "the next job is 2 of 1\u202f024")
	b.says("#windows-past", "archive-2019")
}
