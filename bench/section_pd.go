package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// timestamps compares IDs with the timestamps of TiKV's placement driver (PD), which are unique and increasing, too, and which
// one leader issues from memory. Each system has three members, and the load generator that comes with it.
func timestamps() section {
	return section{name: "pd", title: "IDs and the timestamps of PD", measure: func(ctx context.Context, e *env) (t *table, err error) {
		for _, program := range []string{"pd-server", "pd-tso-bench"} {
			if _, err := exec.LookPath(program); err != nil {
				return nil, &skippedError{program + " is not installed (build it from github.com/tikv/pd)"}
			}
		}
		var started closers
		defer started.close(&err)
		pd, err := e.startPD(ctx, &started)
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		c := comparison{
			heading: "callers that each request one at a time",
			columns: []column{{"per second", calls, false, amount}, {"relative to PD", calls, true, ratio}},
		}
		for _, of := range []struct {
			callers string
			n       int
			atLeast float64
		}{{"1 caller", 1, 1}, {"64 callers", 64, 1.5}, {"1,000 callers", 1000, 2}} {
			theirs, ours := of.callers+" of `pd-tso-bench`", of.callers+" of `snowraft bench ids --coalesce`"
			c.contenders = append(c.contenders,
				contender{name: theirs, turn: pdBench(pd, of.n)},
				contender{name: ours, against: theirs, turn: snowraftBench(e.snowraft, apis(members), of.n)},
			)
			c.targets = append(c.targets, target{
				text: ours + ": at least " + ratio(of.atLeast) + " times the rate of PD", of: ours, figure: calls, ratio: true, atLeast: of.atLeast, format: ratio,
			})
		}
		return c.measure(ctx, e)
	}}
}

// startPD starts three servers of PD, waits until they issue timestamps, and returns an address for clients, which learn the others.
func (e *env) startPD(ctx context.Context, started *closers) (string, error) {
	const size = 3
	var clients, peers, cluster []string
	for i := range size {
		for _, all := range []*[]string{&clients, &peers} {
			address, err := e.freeAddress(ctx)
			if err != nil {
				return "", err
			}
			*all = append(*all, "http://"+address)
		}
		cluster = append(cluster, fmt.Sprintf("pd%d=%s", i+1, peers[i]))
	}
	var last *child
	for i := range size {
		name := fmt.Sprintf("pd%d", i+1)
		data, err := e.temp(name)
		if err != nil {
			return "", err
		}
		if last, err = e.start(name, nil, nil, "pd-server", "--name", name, "--data-dir", data, "--client-urls", clients[i], "--peer-urls", peers[i],
			"--initial-cluster", strings.Join(cluster, ",")); err != nil {
			return "", err
		}
		started.add(last.stop)
	}
	return clients[0], last.await(ctx, func(ctx context.Context) error {
		_, err := pdBench(clients[0], 1)(ctx, 250*time.Millisecond)
		return err
	})
}

var pdTotal = regexp.MustCompile(`Total:\ncount: ([0-9]+),`)

// pdBench returns a turn of callers that request one timestamp at a time. The tool counts whole intervals only, so a turn has two
// of them and a half.
func pdBench(address string, callers int) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		interval := d * 2 / 5
		out, err := exec.CommandContext(ctx, "pd-tso-bench", "-pd", address, "-c", strconv.Itoa(callers), //nolint:gosec // an address of this program
			"-duration", d.String(), "-interval", interval.String()).CombinedOutput()
		found := pdTotal.FindSubmatch(out)
		if err != nil || found == nil {
			return nil, fmt.Errorf("pd-tso-bench: %w: %.1000s", err, out)
		}
		count, err := strconv.ParseFloat(string(found[1]), 64)
		return figures{calls: count / (2 * interval).Seconds()}, err
	}
}

// snowraftBench returns a turn of callers that request one ID at a time.
func snowraftBench(program string, members []string, callers int) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		out, err := exec.CommandContext(ctx, program, "bench", "ids", "--coalesce", "--check=false", "-o", "json", //nolint:gosec // the measured program
			"--addr", strings.Join(members, ","), "-c", strconv.Itoa(callers), "-d", d.String()).Output()
		var report struct {
			NumbersPerSecond float64 `json:"numbersPerSecond"`
			Failed           string  `json:"failed"`
		}
		if err == nil {
			err = json.Unmarshal(out, &report)
		}
		if err != nil || report.Failed != "0" {
			return nil, fmt.Errorf("snowraft bench: %w, %s failed calls: %.1000s", err, report.Failed, out)
		}
		return figures{calls: report.NumbersPerSecond}, nil
	}
}
