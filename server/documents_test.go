package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The parts of document numbers together: gapless templates whose numbers are codes, and late numbers of sequences that began with
// a template.
func TestDocumentNumbersTogether(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, n := range nodes {
			n.untilNewest()
		}
		untilObserved(t, nodes) // no period closes before
		for pattern, settings := range map[string]*snowraftv1.Sequence{
			"vouchers/*": {Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Format: "{name:2}-{code:base32:8}"},
			"daily/*":    lateInvoices("", snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS),
			"plain/*":    lateInvoices("", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT),
		} {
			settings.Format = strings.Replace(settings.Format, "{date:yyyyMMdd}", "{name:2}-{date:yyyyMMdd}", 1)
			if _, err := templatesAt(nodes[0].conn).CreateTemplate(t.Context(), &snowraftv1.CreateTemplateRequest{
				Template: &snowraftv1.Template{Pattern: pattern, Settings: settings},
			}); err != nil {
				t.Fatalf("%s: %v", pattern, err)
			}
		}
		checkTenantCodes(t, nodes)
		checkLateTenants(t, nodes)
	})
}

// checkTenantCodes checks the codes of two tenants at all members.
func checkTenantCodes(t *testing.T, nodes []*node) {
	t.Helper()
	codes := map[string]string{}
	for _, tenant := range []string{"a", "b"} {
		for i, n := range nodes {
			n.untilApplied(nodes)
			r := n.reserve("vouchers/"+tenant, fmt.Sprint("k", i))[0]
			prefix, code, _ := strings.Cut(r.GetText(), "-")
			if prefix != tenant || len(code) != 8 || r.GetNumber() != int64(i+1) || codes[code] != "" {
				t.Errorf("%v, after %v", r, codes)
			}
			codes[code] = r.GetText()
		}
		for _, n := range nodes { // every member writes the codes of open numbers alike
			resp, err := n.reservations().ListReservations(t.Context(), &snowraftv1.ListReservationsRequest{Sequence: "vouchers/" + tenant})
			if err != nil || len(resp.GetReservations()) != len(nodes) {
				t.Fatal(resp, err)
			}
			for _, r := range resp.GetReservations() {
				if _, code, _ := strings.Cut(r.GetText(), "-"); codes[code] != r.GetText() {
					t.Errorf("%s lists %v", n.cfg.Name, r)
				}
			}
		}
	}
}

// checkLateTenants checks numbers of earlier periods of sequences that begin by their first use.
func checkLateTenants(t *testing.T, nodes []*node) {
	t.Helper()
	const today, yesterday = "2026-07-01", "2026-06-30"
	reserve := func(period, key string) (*snowraftv1.ReserveNumbersResponse, error) {
		return nodes[1].reservations().ReserveNumbers(t.Context(), &snowraftv1.ReserveNumbersRequest{Sequence: "daily/a", Keys: []string{key}, Period: period})
	}
	next := func(period string) (*snowraftv1.NextNumbersResponse, error) {
		return nodes[2].sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "plain/a", Count: 1, Period: period})
	}
	// The first use names the period of the document. The cluster does not know what came before.
	if _, err := reserve(yesterday, "k"); reason(err) != rpc.PeriodClosed {
		t.Errorf("a first reservation of yesterday: %v", err)
	}
	if _, err := next(yesterday); reason(err) != rpc.PeriodUnknown {
		t.Errorf("a first number of yesterday: %v", err)
	}
	if got, err := reserve(today, "k"); err != nil || got.GetReservations()[0].GetText() != "a-20260701-001" {
		t.Errorf("today: %v, %v", got, err)
	}
	if got, err := next(today); err != nil || got.GetTexts()[0] != "a-20260701-001" {
		t.Errorf("today: %v, %v", got, err)
	}
	for _, name := range []string{"daily/a", "plain/a"} {
		nodes[0].enterNextDay(name)
	}
	if got, err := reserve("", "l"); err != nil || got.GetReservations()[0].GetText() != "a-20260702-001" {
		t.Errorf("tomorrow: %v, %v", got, err)
	}
	if got, err := next(""); err != nil || got.GetTexts()[0] != "a-20260702-001" {
		t.Errorf("tomorrow: %v, %v", got, err)
	}
	if got, err := reserve(today, "m"); err != nil || got.GetReservations()[0].GetText() != "a-20260701-002" {
		t.Errorf("late: %v, %v", got, err)
	}
	if got, err := next(today); err != nil || got.GetPeriod() != today || got.GetFirst() < 2 {
		t.Errorf("late: %v, %v", got, err)
	}
}
