package server

import (
	"cmp"
	"math"

	"github.com/prometheus/client_golang/prometheus"
)

// peers sends the metrics about each other member.
func (c stateCollector) peers(ch chan<- prometheus.Metric) {
	labels := c.peerLabels()
	c.s.meter.collect(ch, labels)
	node := c.s.member.Node()
	failed := node.ProbeFailures()
	lags, leads := node.FollowerLags()
	for id, label := range labels {
		ch <- prometheus.MustNewConstMetric(descProbes, prometheus.CounterValue, float64(failed[id].UDP), label, "udp")
		ch <- prometheus.MustNewConstMetric(descProbes, prometheus.CounterValue, float64(failed[id].TCP), label, "tcp")
		if !leads {
			continue
		}
		lag, known := lags[id]
		if !known {
			ch <- prometheus.MustNewConstMetric(descLag, prometheus.GaugeValue, math.NaN(), label)
			continue
		}
		ch <- prometheus.MustNewConstMetric(descLag, prometheus.GaugeValue, float64(lag), label)
	}
}

// peerLabels returns the labels of the other members by their IDs. The label is the name of the member. It is the ID if the
// name is unknown or is already the label of another member.
func (c stateCollector) peerLabels() map[string]string {
	labels, taken := make(map[string]string), make(map[string]bool)
	for _, m := range c.s.member.Node().Members() {
		if m.ID == c.s.MemberID() {
			continue
		}
		label := cmp.Or(m.Name, m.ID)
		if taken[label] {
			label = m.ID
		}
		labels[m.ID], taken[label] = label, true
	}
	return labels
}
