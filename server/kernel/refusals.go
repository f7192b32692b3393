package kernel

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/trust"
)

// refusals counts the requests that this process refused because of their tokens, by fault.
type refusals struct{ *prometheus.CounterVec }

func newRefusals() refusals {
	r := refusals{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: namespace + "token_refusals_total", Help: "Requests refused for their token, by what is wrong with it."}, []string{"fault"})}
	for _, fault := range trust.Faults() {
		r.WithLabelValues(string(fault))
	}
	return r
}

// note counts an error if it is this process's refusal of a token.
func (r refusals) note(err error) {
	if denied, ok := errors.AsType[*trust.Denied](err); ok && denied.Fault != "" {
		r.WithLabelValues(string(denied.Fault)).Inc()
	} else if _, ok := errors.AsType[*trust.RateLimited](err); ok {
		r.WithLabelValues(string(trust.FaultRate)).Inc()
	}
}
