package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// consoleFor is the time for which each number of viewers is measured.
const consoleFor = 40 * time.Second

// consoles measures the cost of open pages of the console, for the member that serves them and for the other members.
func consoles() section {
	return section{name: "console", title: "Viewers of the console", long: true, measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if members, err = leaderFirst(ctx, members); err != nil {
			return nil, err
		}
		follower, other := members[1], members[2]
		for i := range 50 { // the sequences of a page
			if err := members[0].sequence(ctx, fmt.Sprintf("sequence-%d", i), snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED); err != nil {
				return nil, err
			}
		}
		t = &table{
			columns: []string{
				"viewers", "page", "processor use of the follower that serves the page, share of a core",
				"processor use of the other follower, share of a core",
			},
			how: fmt.Sprintf("One run of %s per row, without other requests", inSeconds(consoleFor)),
		}
		for _, row := range []struct {
			viewers int
			page    string
		}{{0, ""}, {1, "now"}, {20, "now"}, {20, "windows"}, {20, "sequences"}, {20, "events"}} {
			stop := view(ctx, follower, row.viewers, row.page)
			if err := pass(ctx, 5*time.Second); err != nil { // excludes the cost of the start
				return nil, err
			}
			cells := []string{strconv.Itoa(row.viewers), row.page}
			used, err := cpuOf(ctx, consoleFor, follower, other)
			if failed := stop(); err == nil {
				err = failed
			}
			if err != nil {
				return nil, err
			}
			for _, share := range used {
				cells = append(cells, digits(100*share, 2)+" %")
			}
			t.rows = append(t.rows, cells)
		}
		return t, nil
	}}
}

// cpuOf returns the processor time that members use during d, as a share of one core.
func cpuOf(ctx context.Context, d time.Duration, members ...*member) (shares []float64, err error) {
	read := func() (all []float64, err error) {
		for _, m := range members {
			now, err := m.metrics(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, now[cpuSeconds])
		}
		return all, nil
	}
	before, err := read()
	if err != nil {
		return nil, err
	}
	if err := pass(ctx, d); err != nil {
		return nil, err
	}
	if shares, err = read(); err != nil {
		return nil, err
	}
	for i := range shares {
		shares[i] = (shares[i] - before[i]) / d.Seconds()
	}
	return shares, nil
}

// view opens a page for viewers. The returned function closes them. It returns an error if a request failed before.
func view(ctx context.Context, m *member, viewers int, page string) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, viewers)
	var open sync.WaitGroup
	for range viewers {
		open.Go(func() {
			err := watchPage(ctx, m, page)
			if ctx.Err() == nil {
				failed <- err
			}
		})
	}
	return func() error {
		cancel()
		open.Wait()
		select {
		case err := <-failed:
			return fmt.Errorf("a viewer lost its page: %w", err)
		default:
			return nil
		}
	}
}

// watchPage requests a page again and again, as the script of an open page does, until a request fails.
func watchPage(ctx context.Context, m *member, page string) error {
	path, every := "/console/"+page, time.Second
	if page == "now" {
		path, every = "/", 400*time.Millisecond
	}
	client := http.Client{Transport: &http.Transport{}} // a browser has connections of its own
	defer client.CloseIdleConnections()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.http+path, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close() // nothing was written
		switch {
		case err != nil:
			return err
		case resp.StatusCode != http.StatusOK:
			return fmt.Errorf("status %s", resp.Status)
		}
		if err := pass(ctx, every); err != nil {
			return err
		}
	}
}
