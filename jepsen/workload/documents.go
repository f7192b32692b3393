//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// documents runs applications that number documents by the recipe of docs/document-numbers.md, and that crash between any
// two steps. It also takes numbers of earlier periods, of tenants at their first use, and codes, reads texts back, and imports rows
// with IDs of the past.
//
// Its rate is a fraction of that of other workloads, because each step is an entry of the log.
func documents() Workload {
	return Workload{
		Name:    "documents",
		About:   "documents with gapless numbers, in applications that crash; late numbers, tenants, codes, and IDs of the past",
		Prepare: prepareDocuments,
		Run:     runDocuments,
	}
}

// The sequences of documents. Invoices start again each day, reuse void numbers, and may be late.
const (
	invoices = "invoices"
	receipts = "receipts"
	bills    = "bills" // also late numbers
	vouchers = "vouchers"
	tenants  = "tenants/*"
)

// The time zones in which a day begins last and first, 26 hours apart.
const (
	lastZone  = "Etc/GMT+12"
	firstZone = "Etc/GMT-14"
)

var gapless = []string{invoices, receipts}

const (
	ordersShare = 0.05 // share of the rate, as are the following
	textsShare  = 0.1
	liveShare   = 0.03 // requests for live IDs of the layout with a past
	// lateFor is the time for which the numbers of an earlier period are open, longer than any jump of all clocks.
	lateFor = 45 * 24 * time.Hour
	// settlesWithin is the time after the load in which the applications settle all numbers, on a busy machine too.
	settlesWithin = 2 * time.Minute
)

func prepareDocuments(ctx context.Context, w *World) error {
	err := w.Create(ctx,
		&snowraftv1.Sequence{
			Name: invoices, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reuse: true,
			Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, TimeZone: lastZone,
			Format: "I-{date:yyyyMMdd}-{seq:04}", LateMs: lateFor.Milliseconds(),
		},
		&snowraftv1.Sequence{Name: receipts, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Format: "R{seq}"},
		&snowraftv1.Sequence{
			Name: bills, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, LateMs: lateFor.Milliseconds(),
			Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, Format: "B-{date:yyyyMMdd}-{seq:04}",
		},
		&snowraftv1.Sequence{Name: vouchers, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, Format: "V{code:base32:8}{check:crockford}"},
	)
	if err != nil {
		return err
	}
	if err := w.endDay(ctx); err != nil {
		return err
	}
	if err := w.CreateLayout(ctx, importsLayout); err != nil {
		return err
	}
	return w.createTemplate(ctx, tenants, &snowraftv1.Sequence{
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Format: "T-{name:2}-{seq:03}",
	})
}

// endDay draws the first invoice, and then moves invoices to another time zone, in which it is another day. So the run begins with a period
// that has ended, and whose numbers may be late.
func (w *World) endDay(ctx context.Context) error {
	reservations, err := connect(w, snowraftv1.NewReservationServiceClient)
	if err != nil {
		return err
	}
	defer reservations.close()
	s := &shop{client: w.client("documents"), of: reservations.of, printed: new(printed)}
	for s.reserve(ctx, order{invoices, "first"}).Outcome != history.OK {
		if !history.Sleep(ctx, tryEvery) {
			return errors.New("the first invoice was not reserved")
		}
	}
	sequences, err := connect(w, snowraftv1.NewSequenceServiceClient)
	if err != nil {
		return err
	}
	defer sequences.close()
	return w.insist(ctx, func(ctx context.Context, m *lab.Member) error {
		resp, err := sequences.of[m].UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: invoices, TimeZone: firstZone},
		})
		if err == nil && len(resp.GetUnreachedMembers()) > 0 {
			err = fmt.Errorf("members unreached: %v", resp.GetUnreachedMembers())
		}
		return err
	})
}

// createTemplate creates and records a template. When it returns, every running member knows it.
func (w *World) createTemplate(ctx context.Context, pattern string, settings *snowraftv1.Sequence) error {
	s, err := connect(w, snowraftv1.NewTemplateServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	w.Journal.Add(history.Line{Template: &history.Template{Pattern: pattern}})
	return w.insist(ctx, func(ctx context.Context, m *lab.Member) error {
		resp, err := s.of[m].CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{
			Template: &snowraftv1.Template{Pattern: pattern, Settings: settings},
		})
		if err == nil && len(resp.GetUnreachedMembers()) > 0 {
			err = fmt.Errorf("members unreached: %v", resp.GetUnreachedMembers())
		}
		return err
	})
}

func runDocuments(ctx context.Context, w *World) error {
	reservations, err := connect(w, snowraftv1.NewReservationServiceClient)
	if err != nil {
		return err
	}
	defer reservations.close()
	sequences, err := connect(w, snowraftv1.NewSequenceServiceClient)
	if err != nil {
		return err
	}
	defer sequences.close()
	own, err := w.product()
	if err != nil {
		return err
	}
	defer own.Close() //nolint:errcheck // nothing is in progress
	texts := newTexts(w.client("documents"), sequences.of)
	s := &shop{client: w.client("documents"), of: reservations.of, own: own, db: newDatabase(), printed: texts.printed}
	s.periods = []string{w.Journal.Seen()[invoices].Period}
	if err := texts.begin(ctx); err != nil {
		return err
	}
	rows, err := w.importer(own)
	if err != nil {
		return err
	}
	ids, err := connect(w, snowraftv1.NewIdServiceClient)
	if err != nil {
		return err
	}
	defer ids.close()
	live := idClient{client: w.client("documents"), layout: imports, out: rows.out}
	var wg sync.WaitGroup
	for range importers {
		wg.Go(func() { rows.run(ctx) })
	}
	wg.Go(func() {
		pace(ctx, w.Rate*liveShare, func(ctx context.Context) {
			if m, ok := w.someone(); ok {
				live.request(ctx, m, ids.of[m], several(mostRows), 0, 0)
			}
		})
	})
	wg.Go(func() { pace(ctx, w.Rate*ordersShare, s.work) })
	wg.Go(func() { pace(ctx, w.Rate*textsShare, texts.ask) })
	wg.Go(func() { s.reconciles(ctx) })
	wg.Go(func() { s.takes(ctx) })
	wg.Wait()
	s.conclude(ctx)
	return nil
}
