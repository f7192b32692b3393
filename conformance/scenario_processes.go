package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/snowraft/snowraft/snowflake"
)

// together runs all kinds of issuing of all clients, in several processes each, and looks for an ID or number that is there twice.
func together(ctx context.Context, s *suite) (err error) {
	for _, mode := range []string{"strict", "relaxed"} {
		if _, err := s.open.admin(ctx, "seq", "create", "together-"+mode, "--mode", mode); err != nil {
			return err
		}
	}
	var jobs []*job
	for _, c := range s.clients {
		for range s.processes {
			d, err := s.start(ctx, c)
			if err != nil {
				return err
			}
			defer d.kill()
			some, err := s.allKinds(d, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			jobs = append(jobs, some...)
		}
	}
	var (
		mu    sync.Mutex
		lists = make(map[string][][]uint64) // keyed by kind
		errs  []error
		group sync.WaitGroup
	)
	for _, j := range jobs {
		group.Go(func() {
			list, result, err := j.issued()
			if err == nil && len(list) != j.count {
				err = fmt.Errorf("%d issued, want %d: %+v", len(list), j.count, result)
			}
			if err != nil {
				err = fmt.Errorf("%s: %s: %w", j.name, j.of, err)
			}
			mu.Lock()
			defer mu.Unlock()
			lists[j.of], errs = append(lists[j.of], list), append(errs, err)
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for of, all := range lists {
		total := 0
		for _, list := range all {
			total += len(list)
		}
		fmt.Fprintf(s.out, "      %d %s\n", total, of)
		if err := distinct(all...); err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
	}
	return nil
}

// allKinds starts a run of each kind, with the share of a process.
func (s *suite) allKinds(d *driver, c client) (jobs []*job, err error) {
	p := &player{suite: s, driver: d, client: c}
	if err := errors.Join(p.connect(), p.generator("g", nil), p.call("buffer", args{"client": "c", "buffer": "b"}, nil),
		p.call("blocks", args{"client": "c", "blocks": "n", "sequence": "together-relaxed"}, nil)); err != nil {
		return nil, err
	}
	share := s.count / (len(s.clients) * s.processes)
	for _, kind := range []struct {
		of    string
		count int
		with  args
	}{
		{"IDs", share * 89 / 100, args{"kind": "generator", "name": "g", "threads": 4}},
		{"IDs", share / 10, args{"kind": "buffer", "name": "b", "threads": 2}},
		{"IDs", share / 100, args{"kind": "ids", "name": "c", "threads": 2}},
		{"relaxed numbers", share / 20, args{"kind": "blocks", "name": "n", "threads": 2}},
		{"strict numbers", share / 100, args{"kind": "numbers", "name": "c", "sequence": "together-strict", "threads": 4}},
	} {
		kind.with["count"] = kind.count
		j, err := s.run(d, kind.with)
		if err != nil {
			return nil, err
		}
		j.of, j.count = kind.of, kind.count
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// workers issues IDs in worker threads and in processes of Node.js, and in the process that starts them.
func workers(_ context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	var s state
	if err := p.call("status", args{"generator": "g"}, &s); err != nil {
		return err
	}
	all, err := p.take("next", args{"generator": "g"}, 2000)
	if err != nil {
		return err
	}
	for _, kind := range []string{"threads", "processes"} {
		var got struct {
			IDs     []string `json:"ids"`
			Workers []string `json:"workers"`
		}
		if err := p.call("workers", args{"kind": kind, "workers": 4, "addresses": p.open.addresses(), "count": 2000}, &got); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		some, err := numbers(got.IDs, 8000)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		all = append(all, some...)
		leased, err := numbers(append(got.Workers, s.Workers[0].Worker), 5)
		if err == nil {
			err = distinct(leased)
		}
		if err != nil {
			return fmt.Errorf("workers of %s: %w", kind, err)
		}
		for _, id := range some {
			if parts, err := snowflake.Default().Unpack(id); err != nil || !slices.Contains(leased, parts.Worker) {
				return fmt.Errorf("ID %d of %s is not of the workers %v: %w", id, kind, leased, err)
			}
		}
	}
	return distinct(all)
}

// virtualThreads issues in many virtual threads: IDs from memory, and by requests, which make the threads wait. Before, ordinary threads
// issue, because a thread that waits for the initialization of a class stays pinned.
func virtualThreads(_ context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	var lists [][]uint64
	for _, with := range []args{
		{"kind": "generator", "name": "g", "threads": 50, "count": 5000},
		{"kind": "ids", "name": "c", "threads": 50, "count": 5000},
		{"kind": "generator", "name": "g", "threads": 2000, "virtual": true, "count": 200_000},
		{"kind": "ids", "name": "c", "threads": 1000, "virtual": true, "count": 20_000},
	} {
		j, err := p.run(p.driver, with)
		if err != nil {
			return err
		}
		list, result, err := j.issued()
		if err != nil {
			return err
		}
		if len(list) != with["count"] || result.Pinned != 0 {
			return fmt.Errorf("%v: %d issued, %d waits of pinned threads, want all and none", with, len(list), result.Pinned)
		}
		lists = append(lists, list)
	}
	return distinct(lists...)
}

// forks creates child processes while threads issue. A child issues nothing, unless it waits for a window of its own.
func forks(_ context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	var got struct {
		Children         int      `json:"children"`
		IssuedInChildren int      `json:"issued_in_children"`
		InReadyChildren  []string `json:"ids_in_ready_children"`
		Issued           int      `json:"issued"`
		Errors           []string `json:"errors"`
	}
	file := filepath.Join(p.dir, p.unique("issued"))
	with := args{"generator": "g", "forks": 200, "threads": 8, "per_child": 10, "ready_every": 20, "file": file}
	if err := p.call("fork", with, &got); err != nil {
		return err
	}
	if got.Children != 200 || got.IssuedInChildren != 0 || len(got.Errors) > 0 || got.Issued == 0 {
		return fmt.Errorf("%+v, want 200 children that issue nothing without a window, and a parent that issues", got)
	}
	inParent, err := read(file)
	if err != nil {
		return err
	}
	inChildren, err := numbers(got.InReadyChildren, 10*10)
	if err != nil {
		return err
	}
	after, err := p.take("next", args{"generator": "g"}, 100)
	if err != nil {
		return err
	}
	return distinct(inParent, inChildren, after)
}
