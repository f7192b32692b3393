package diagnose

import (
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// labels lists the metric labels whose values an archive shows; docs/metrics.md explains them. The last two are labels of the
// runtime's metrics and of histograms.
var labels = map[string]bool{
	"protocol": true, "method": true, "code": true, "reason": true, "layout": true, "lane": true, "mode": true,
	"role": true, "alive": true, "version": true, "cause": true, "outcome": true, "peer": true, "transport": true, "fault": true, "quantile": true, "le": true,
}

// writeMetrics writes the present metrics in the text format of Prometheus.
func (r *Redactor) writeMetrics(w io.Writer, from prometheus.Gatherer) error {
	families, err := from.Gather()
	for _, family := range families {
		prefix, _, _ := strings.Cut(family.GetName(), "_")
		if prefix != "snowraft" && prefix != "go" && prefix != "process" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if !labels[l.GetName()] {
					l.Value = new(r.Name(l.GetValue()))
				}
			}
		}
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return err
}
