package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// readdressed restarts one member after another at other ports, while a client issues. In the end, nothing listens at the addresses that
// the client was given.
func readdressed(ctx context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	if err := p.generator("g", nil); err != nil {
		return err
	}
	given := p.open.addresses()
	requested, err := p.run(p.driver, args{"kind": "ids", "name": "c", "threads": 2})
	if err != nil {
		return err
	}
	generated := p.issue("g")
	for _, m := range p.open.members {
		if err := p.open.move(ctx, m, p.ports); err != nil {
			return err
		}
	}
	for _, address := range given {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			return errors.Join(fmt.Errorf("a server still listens at %s", address), conn.Close())
		}
	}
	if _, err := p.take("ids", args{"client": "c"}, 10); err != nil {
		return fmt.Errorf("after all members moved: %w", err)
	}
	if err := p.generator("late", nil); err != nil {
		return fmt.Errorf("a window after all members moved: %w", err)
	}
	if err := generated.continues(ctx); err != nil {
		return fmt.Errorf("after all members moved: %w", err)
	}
	return p.apart(requested, generated)
}

// apart ends a run and an issuing, and checks that no ID is there twice.
func (p *player) apart(requested *job, generated *issuing) error {
	if err := p.call("stop", args{"run": requested.id}, nil); err != nil {
		return err
	}
	some, _, err := requested.issued()
	others, failed := generated.stop()
	return errors.Join(err, failed, distinct(some, others))
}

// move restarts a member at other ports, and waits until all members serve and list its new address. Before that, the
// client requests the list of members from those that are left, and learns where the members that moved before are now.
func (c *cluster) move(ctx context.Context, p *process, free *ports) error {
	before, err := c.lists(ctx, p)
	if err != nil {
		return err
	}
	p.kill()
	err = within(ctx, 90*time.Second, func() error { // a client without a connection to the member requests the list at intervals
		now, err := c.lists(ctx, p)
		if err == nil && now == before {
			err = fmt.Errorf("the client does not request the list of members after the end of member %s", p.name)
		}
		return err
	})
	if err != nil {
		return errors.Join(err, c.start(p))
	}
	p.port = free.take(4)
	if err := c.start(p); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		for _, m := range c.members {
			list, err := get(ctx, "http://"+m.http()+"/v1/members")
			if err == nil && !strings.Contains(list, strconv.Quote(p.http())) {
				err = fmt.Errorf("member %s does not list %s: %s", m.name, p.http(), list)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var listRequests = regexp.MustCompile(`(?m)^snowraft_requests_total\{.*(?:/ListMembers|GET /v1/members)".*\} (\d+)$`)

// lists returns the number of requests for the list of members, at all members except one.
func (c *cluster) lists(ctx context.Context, except *process) (n int, err error) {
	for _, m := range c.members {
		if m == except {
			continue
		}
		metrics, err := get(ctx, "http://"+m.http()+"/metrics")
		if err != nil {
			return 0, err
		}
		for _, match := range listRequests.FindAllStringSubmatch(metrics, -1) {
			count, err := strconv.Atoi(match[1])
			if err != nil {
				return 0, err
			}
			n += count
		}
	}
	return n, nil
}

// get returns the body of an answer of a member.
func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(body), err
}
