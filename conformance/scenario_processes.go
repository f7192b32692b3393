package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
			list, _, err := j.issued()
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
		of   string
		with args
	}{
		{"IDs", args{"kind": "generator", "name": "g", "threads": 4, "count": share * 8 / 10}},
		{"IDs", args{"kind": "buffer", "name": "b", "threads": 2, "count": share / 10}},
		{"IDs", args{"kind": "ids", "name": "c", "threads": 2, "count": share / 100}},
		{"relaxed numbers", args{"kind": "blocks", "name": "n", "threads": 2, "count": share / 20}},
		{"strict numbers", args{"kind": "numbers", "name": "c", "sequence": "together-strict", "threads": 4, "count": share / 100}},
	} {
		j, err := s.run(d, kind.with)
		if err != nil {
			return nil, err
		}
		j.of = kind.of
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// forks creates child processes while threads issue.
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
		Issued           int      `json:"issued"`
		Errors           []string `json:"errors"`
	}
	if err := p.call("fork", args{"generator": "g", "forks": 200, "threads": 8, "per_child": 10}, &got); err != nil {
		return err
	}
	if got.Children != 200 || got.IssuedInChildren != 0 || len(got.Errors) > 0 || got.Issued == 0 {
		return fmt.Errorf("%+v, want 200 children that issue nothing, and a parent that issues", got)
	}
	_, err := p.take("next", args{"generator": "g"}, 100)
	return err
}
