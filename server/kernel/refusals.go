package kernel

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/trust"
)

var descRefusals = Desc("token_refusals_total", "Requests refused for their token, by what is wrong with it.", "fault")

// refusals counts the requests that this process refused because of their tokens. The map never changes.
type refusals map[trust.Fault]*atomic.Uint64

func newRefusals() refusals {
	r := make(refusals)
	for _, fault := range trust.Faults() {
		r[fault] = new(atomic.Uint64)
	}
	return r
}

// note counts an error if it is this process's refusal of a token.
func (r refusals) note(err error) {
	var fault trust.Fault
	if denied, ok := errors.AsType[*trust.Denied](err); ok {
		fault = denied.Fault
	} else if _, ok := errors.AsType[*trust.RateLimited](err); ok {
		fault = trust.FaultRate
	}
	if n := r[fault]; n != nil {
		n.Add(1)
	}
}

func (r refusals) collect(ch chan<- prometheus.Metric) {
	for fault, n := range r {
		ch <- prometheus.MustNewConstMetric(descRefusals, prometheus.CounterValue, float64(n.Load()), string(fault))
	}
}
