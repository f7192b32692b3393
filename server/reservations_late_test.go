package server_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// A number is reserved in a period that has ended, at every member, until the period closes.
func TestLateReservations(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].untilNewest()
		untilObserved(t, nodes) // no period closes before
		nodes[0].createSequence(lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS))
		reserve := func(n *node, key, period string) (*snowraftv1.Reservation, error) {
			resp, err := n.reservations().ReserveNumbers(t.Context(), &snowraftv1.ReserveNumbersRequest{Sequence: "inv", Keys: []string{key}, Period: period})
			if err != nil {
				return nil, err
			}
			return resp.GetReservations()[0], nil
		}
		nodes[0].reserve("inv", "first")
		nodes[0].enterNextDay("inv")
		if r := nodes[1].reserve("inv", "next")[0]; r.GetText() != "20260702-001" {
			t.Errorf("July 2 begins with %v", r)
		}
		for i, n := range nodes {
			r, err := reserve(n, n.cfg.Name, "2026-07-01")
			if want := fmt.Sprintf("20260701-%03d", i+2); err != nil || r.GetText() != want || r.GetPeriod() != "2026-07-01" {
				t.Errorf("late at %s: %v, %v, want %s", n.cfg.Name, r, err, want)
			}
			if r, err := reserve(n, n.cfg.Name, ""); err != nil || r.GetPeriod() != "2026-07-01" || r.GetAttempt() != 2 {
				t.Errorf("a key with a late number gets %v, %v", r, err)
			}
		}
		if r, err := reserve(nodes[2], "present", "2026-07-02"); err != nil || r.GetText() != "20260702-002" {
			t.Errorf("the present period: %v, %v", r, err)
		}
		status, body := nodes[2].ask("POST", "/v1/reservations:reserve", `{"sequence":"inv","keys":["http"],"period":"2026-07-01"}`)
		if status != 200 || !strings.Contains(body, `"number":"5"`) {
			t.Errorf("over HTTP: %d %s", status, body)
		}
		for period, want := range map[string]string{
			"2026-06-30": rpc.PeriodClosed, "2026-07-05": rpc.InvalidArgument, "2026-07": rpc.InvalidArgument, "soon": rpc.InvalidArgument,
		} {
			if r, err := reserve(nodes[1], "other", period); reason(err) != want {
				t.Errorf("in period %q: %v, %v, want %s", period, r, err, want)
			}
		}
		never := &snowraftv1.Sequence{Name: "inv", LateMs: 0}
		if _, err := nodes[0].sequences.UpdateSequence(t.Context(), &snowraftv1.UpdateSequenceRequest{Sequence: never, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"late_ms"}}}); err != nil {
			t.Fatal(err)
		}
		if r, err := reserve(nodes[1], "other", "2026-07-01"); reason(err) != rpc.PeriodClosed {
			t.Errorf("in a closed period: %v, %v", r, err)
		}
	})
}

// A name that matches a template of gapless sequences begins with its first reservation. One of another template does not.
func TestReservationsBeginSequences(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.HTTPAddr = "127.0.0.1:0" })
		for _, n := range nodes {
			n.untilNewest()
		}
		for pattern, mode := range map[string]snowraftv1.SequenceMode{
			"invoices/*": snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, "tickets/*": snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT,
		} {
			if _, err := templatesAt(nodes[0].conn).CreateTemplate(t.Context(), &snowraftv1.CreateTemplateRequest{Template: &snowraftv1.Template{
				Pattern: pattern, Settings: &snowraftv1.Sequence{Mode: mode, Format: "{name:2}-{seq:03}"},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range nodes {
			n.untilApplied(nodes)
			for i, key := range []string{"a", "b", "a"} {
				r := n.reserve("invoices/"+n.cfg.Name, key)[0]
				if want := fmt.Sprintf("%s-%03d", n.cfg.Name, 1+i%2); r.GetText() != want || r.GetAttempt() != uint32(1+i/2) {
					t.Errorf("at %s, key %s gets %v, want %s", n.cfg.Name, key, r, want)
				}
			}
			if got, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "invoices/" + n.cfg.Name}); err != nil || got.GetSequence().GetTemplate() != "invoices/*" {
				t.Errorf("%v, %v", got, err)
			}
			for name, want := range map[string]string{"tickets/" + n.cfg.Name: rpc.UnknownSequence, "other": rpc.UnknownSequence} {
				if _, err := n.reservations().ReserveNumbers(t.Context(), &snowraftv1.ReserveNumbersRequest{Sequence: name, Keys: []string{"a"}}); reason(err) != want {
					t.Errorf("a reservation of %s: %v, want %s", name, err, want)
				}
				if got, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: name}); reason(err) != rpc.UnknownSequence {
					t.Errorf("a refused reservation created %v, %v", got, err)
				}
			}
		}
		status, body := nodes[1].ask("POST", "/v1/reservations:reserve", `{"sequence":"invoices/http","keys":["a"]}`)
		if status != 200 || !strings.Contains(body, `"text":"http-001"`) {
			t.Errorf("over HTTP: %d %s", status, body)
		}
	})
}
