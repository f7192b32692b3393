package server

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/trust"
)

// receipts hands the position of this member to clients, and hears the positions that clients bring back. It implements
// [frontend.Receipts].
type receipts struct {
	trust   trust.Receipts
	history interface {
		Position() (p position.Position, ok bool)
		Witness(p position.Position, from string)
	}
	logger *slog.Logger

	last atomic.Pointer[handed]

	valid, strange, invalid atomic.Uint64 // receipts heard
	warned                  sync.Once     // about strange receipts
}

// handed is a receipt with its position.
type handed struct {
	of      position.Position
	receipt []byte
}

var _ frontend.Receipts = (*receipts)(nil)

// Hand implements [frontend.Receipts]. All clients get the same receipt while the position stays the same.
func (r *receipts) Hand() []byte {
	p, ok := r.history.Position()
	if !ok {
		return nil
	}
	if last := r.last.Load(); last != nil && last.of == p {
		return last.receipt
	}
	next := &handed{p, r.trust.Make(p)}
	r.last.Store(next)
	return next.receipt
}

// Hear implements [frontend.Receipts].
func (r *receipts) Hear(receipt []byte, from string, _ bool) {
	p, err := r.trust.Check(receipt)
	switch {
	case err == nil:
		r.valid.Add(1)
		r.history.Witness(p, from)
	case errors.Is(err, trust.ErrReceiptSecret):
		r.strange.Add(1)
		r.warned.Do(func() {
			r.logger.Warn("receipt of a client ignored: the secret file does not contain its secret; further ones are only counted", "client", from)
		})
	default:
		r.invalid.Add(1)
	}
}

var descReceipts = kernel.Desc("receipts_heard_total", "Receipts that clients brought to this member, by whether one of its secrets made them.", "check")

func (r *receipts) collect(ch chan<- prometheus.Metric) {
	for check, n := range map[string]uint64{"valid": r.valid.Load(), "unknown_secret": r.strange.Load(), "invalid": r.invalid.Load()} {
		ch <- prometheus.MustNewConstMetric(descReceipts, prometheus.CounterValue, float64(n), check)
	}
}
