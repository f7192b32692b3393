package server

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/cluster"
)

// peers sends the metrics about each other member.
func (c stateCollector) peers(ch chan<- prometheus.Metric) {
	labels := peerLabels(c.s.member.Node().Members(), c.s.MemberID())
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

// peerLabels returns the labels of the members except self by their IDs. The label is the name of the member. It is the ID if the
// name is unknown, belongs to several of these members, or is an ID.
func peerLabels(members []cluster.Member, self string) map[string]string {
	named := make(map[string]int)
	for _, m := range members {
		if m.ID != self {
			named[m.Name]++
			named[m.ID]++ // two equal labels would make every scrape fail
		}
	}
	labels := make(map[string]string)
	for _, m := range members {
		switch {
		case m.ID == self:
		case m.Name == "" || named[m.Name] > 1:
			labels[m.ID] = m.ID
		default:
			labels[m.ID] = m.Name
		}
	}
	return labels
}
