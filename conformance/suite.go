package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// suite is one run of the scenarios.
type suite struct {
	dir       string
	out       io.Writer // the results
	count     int
	processes int
	leaks     time.Duration // least duration of the scenario leaks; 0 omits it
	ports     *ports
	clients   []client
	scenarios []scenario
	open      *cluster
	secured   *cluster
	hosts     *hosts // only for scenarios that partition the network
}

// scenario is one promise, and what shows that a client keeps it.
type scenario struct {
	name, about string
	feature     string // needed; empty: none
	disturbs    bool   // the members; other scenarios run with all clients at the same time
	long        bool   // takes more than about 10 s with a client, so a quick run omits it
	partitions  bool   // the network, which needs root
	newest      bool   // the driver has the newest runtime, if there are several
	http        bool   // the scenario looks at HTTP, which the Go client does not use
	play        func(ctx context.Context, p *player) error
	// together plays with all clients at once.
	together func(ctx context.Context, s *suite) error
}

// player plays a scenario with one client.
type player struct {
	*suite
	*driver
	client client
	name   string // the scenario's
}

// unique returns a name that no other scenario or client uses.
func (p *player) unique(name string) string {
	return fmt.Sprintf("%s-%s-%s", p.client.name, strings.ReplaceAll(p.name, " ", "-"), name)
}

// choose chooses clients and scenarios by their names.
func (s *suite) choose(names []string, only string, quick bool) error {
	for _, name := range names {
		i := slices.IndexFunc(clients, func(c client) bool { return c.name == name })
		if i < 0 {
			return fmt.Errorf("unknown client %q", name)
		}
		s.clients = append(s.clients, clients[i])
	}
	if only == "" {
		s.scenarios = slices.DeleteFunc(slices.Clone(scenarios), func(sc scenario) bool {
			return quick && sc.long || sc.partitions && os.Geteuid() != 0 || sc.name == "leaks" && s.leaks == 0
		})
		return nil
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("unknown scenario %q; see --list", name)
		}
		s.scenarios = append(s.scenarios, scenarios[i])
	}
	return nil
}

// prepare builds the program and the Go driver, and starts the clusters.
func (s *suite) prepare(ctx context.Context) (err error) {
	for name, pkg := range map[string]string{"snowraft": "./cmd/snowraft", "driver-go": "./conformance/driver-go"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(s.dir, name), pkg)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	program := filepath.Join(s.dir, "snowraft")
	if s.open, err = newCluster(ctx, program, filepath.Join(s.dir, "open"), s.ports, false); err != nil {
		return err
	}
	if s.secured, err = newCluster(ctx, program, filepath.Join(s.dir, "secured"), s.ports, true); err != nil {
		s.close()
	}
	return err
}

// close ends the members.
func (s *suite) close() {
	for _, c := range []*cluster{s.open, s.secured} {
		if c != nil {
			c.stop()
		}
	}
}

// play plays all scenarios with all clients. A driver that does not start is an error.
func (s *suite) play(ctx context.Context) (*results, error) {
	r := &results{out: s.out, clients: s.clients, scenarios: s.scenarios}
	for _, sc := range s.scenarios {
		if sc.together != nil {
			began := time.Now()
			r.add(sc, client{name: "all"}, sc.together(ctx, s), time.Since(began))
			continue
		}
		if err := s.playWithEach(ctx, sc, r); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", r.passed(), r.failed())
	return r, ctx.Err()
}

// playWithEach plays a scenario with each client: one after another if it disturbs the members, otherwise all at the same time.
func (s *suite) playWithEach(ctx context.Context, sc scenario, r *results) error {
	var group sync.WaitGroup
	errs := make([]error, len(s.clients))
	for i, c := range s.clients {
		group.Go(func() { errs[i] = s.playWith(ctx, sc, c, r) })
		if sc.disturbs {
			group.Wait()
		}
	}
	group.Wait()
	return errors.Join(errs...)
}

// playWith plays a scenario with a client. The error is about the driver.
func (s *suite) playWith(ctx context.Context, sc scenario, c client, r *results) error {
	if sc.newest {
		c = c.newest()
	}
	d, err := s.start(ctx, c)
	if err != nil {
		return err
	}
	if sc.feature != "" && !d.has(sc.feature) || sc.http && d.has("grpc") {
		r.skip(sc, c)
		return d.quit()
	}
	began := time.Now()
	err = sc.play(ctx, &player{suite: s, driver: d, client: c, name: sc.name})
	took := time.Since(began)
	if end := d.quit(); err == nil {
		err = end
	}
	r.add(sc, c, err, took)
	return nil
}
