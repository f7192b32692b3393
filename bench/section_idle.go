package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	idleFor    = time.Minute
	cpuSeconds = "process_cpu_seconds_total"
	resident   = "process_resident_memory_bytes"
)

// idle measures the cost of members without requests, by their own metrics.
func idle() section {
	return section{name: "idle", title: "An idle member", long: true, measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if members, err = leaderFirst(ctx, members); err != nil {
			return nil, err
		}
		if err := pass(ctx, 10*time.Second); err != nil { // excludes the cost of the start
			return nil, err
		}
		before := make([]map[string]float64, len(members))
		for i, m := range members {
			if before[i], err = m.metrics(ctx); err != nil {
				return nil, err
			}
		}
		if err := pass(ctx, idleFor); err != nil {
			return nil, err
		}
		t = &table{columns: []string{"one of three members", "processor use, share of a core", "resident memory"}, how: "One run of " + inSeconds(idleFor)}
		for i, m := range members {
			after, err := m.metrics(ctx)
			if err != nil {
				return nil, err
			}
			name := "a follower"
			if i == 0 {
				name = "the leader"
			}
			t.rows = append(t.rows, []string{
				name, digits(100*(after[cpuSeconds]-before[i][cpuSeconds])/idleFor.Seconds(), 1) + " %", digits(after[resident]/1e6, 2) + " MB",
			})
		}
		return t, nil
	}}
}

// pass waits for the duration d.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// metrics returns the member's metrics, by name and labels.
func (m *member) metrics(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.http+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read to its end
	all := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			all[name] = value
		}
	}
	if _, ok := all[cpuSeconds]; !ok {
		return nil, fmt.Errorf("%s has no metric %s", m.name, cpuSeconds)
	}
	return all, nil
}
