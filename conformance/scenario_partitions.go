package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// partitioned cuts one member off, while a client issues: a follower and the leader from all others and from clients, then the
// leader from the members only. Calls continue through the majority.
func partitioned(ctx context.Context, p *player) (err error) {
	c, err := p.spread(ctx)
	if err != nil {
		return err
	}
	defer c.stop()
	if err := p.call("open", args{"client": "c", "addresses": c.addresses()}, nil); err != nil {
		return err
	}
	b, err := p.busy()
	if err != nil {
		return err
	}
	for _, cut := range []struct {
		about           string
		leader, clients bool
	}{
		{"a follower", false, true},
		{"the leader", true, true},
		{"the leader, which clients still reach,", true, false},
	} {
		heal, err := p.isolate(ctx, c, cut.leader, cut.clients)
		if err != nil {
			return err
		}
		if err := b.through(ctx); err != nil {
			return errors.Join(fmt.Errorf("with %s cut off: %w", cut.about, err), heal(ctx))
		}
		if err := errors.Join(heal(ctx), c.ready(ctx)); err != nil {
			return err
		}
	}
	return b.end()
}

// spread starts a cluster, each of whose members has a host of its own.
func (p *player) spread(ctx context.Context) (*cluster, error) {
	c := &cluster{program: p.open.program, dir: filepath.Join(p.dir, p.unique("cluster"))}
	for _, name := range memberNames {
		h, err := p.hosts.add(ctx, fmt.Sprintf("%.10s-%s", p.client.name, name))
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, &process{name: name, host: h, port: 7700})
	}
	return c, c.begin(ctx, false)
}

// isolate cuts the leader or another member off from the members, and perhaps from the clients.
func (p *player) isolate(ctx context.Context, c *cluster, leader, clients bool) (heal func(context.Context) error, err error) {
	victim, others := "", []string(nil)
	leads, err := c.leader(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range c.members {
		name := fmt.Sprintf("%.10s-%s", p.client.name, m.name)
		if victim == "" && (m.name == leads) == leader {
			victim = name
		} else {
			others = append(others, name)
		}
	}
	return p.hosts.cut(ctx, victim, others, clients)
}

// leader returns the name of the leader.
func (c *cluster) leader(ctx context.Context) (name string, err error) {
	err = eventually(ctx, func() error {
		text, err := get(ctx, "http://"+c.members[0].http()+"/v1/members")
		if err != nil {
			return err
		}
		var list struct {
			Members []struct {
				Name   string `json:"name"`
				Leader bool   `json:"leader"`
			} `json:"members"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		for _, m := range list.Members {
			if m.Leader {
				name = m.Name
				return nil
			}
		}
		return errors.New("no member leads")
	})
	return name, err
}
