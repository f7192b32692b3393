package diagnose

import (
	"io"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// labels lists the metric labels whose values an archive shows; docs/metrics.md explains them. The last two are labels of the
// runtime's metrics and of histograms.
var labels = map[string]bool{
	"protocol": true, "method": true, "code": true, "reason": true, "layout": true, "lane": true, "mode": true,
	"role": true, "alive": true, "version": true, "cause": true, "outcome": true, "peer": true, "transport": true, "fault": true, "check": true, "worker": true,
	"quantile": true, "le": true,
}

// unlisted reports whether a metric has a label that an archive does not show.
func unlisted(m *dto.Metric) bool {
	return slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return !labels[l.GetName()] })
}

// writeMetrics writes the present metrics in the text format of Prometheus, without those with unlisted labels.
func writeMetrics(w io.Writer, from prometheus.Gatherer) error {
	families, err := from.Gather()
	for _, family := range families {
		prefix, _, _ := strings.Cut(family.GetName(), "_")
		family.Metric = slices.DeleteFunc(family.Metric, unlisted)
		if prefix != "snowraft" && prefix != "go" && prefix != "process" || len(family.GetMetric()) == 0 {
			continue
		}
		if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
			return err
		}
	}
	return err
}
