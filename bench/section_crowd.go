package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// crowded measures the cost of idle connections, for a member and for the callers of other connections. A member accepts
// 10,000 connections per port; the callers need some of these.
func crowded() section {
	return section{name: "crowd", title: "Idle connections", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		count := 9900
		if e.brief() {
			count = 300
		}
		present, err := e.startDriver(ctx, "present", &started)
		if err != nil {
			return nil, err
		}
		var (
			names     = []string{"none", whole(float64(count)) + " idle connections, each with a stream"}
			residents [2]float64
			each      string
			c         comparison
		)
		for i, name := range names {
			members, err := e.startCluster(ctx, 1, &started)
			if err != nil {
				return nil, err
			}
			before, err := members[0].metrics(ctx)
			if err != nil {
				return nil, err
			}
			residents[i] = before[resident]
			if i > 0 {
				after, err := e.surround(ctx, members[0], count, &started)
				if err != nil {
					return nil, err
				}
				residents[i] = after
				each = digits((after-before[resident])/float64(count)/1e3, 2) + " kB"
			}
			for _, callers := range []int{1, 64} {
				c.contenders = append(c.contenders, contender{
					name: fmt.Sprint(name, callers), turn: present.turn(drive{addresses: apis(members), clients: 1, callers: callers}),
				})
			}
		}
		rounds, err := c.rounds(ctx, e)
		if err != nil {
			return nil, err
		}
		t = &table{columns: []string{
			"other connections to the member", "resident memory", "memory per connection",
			"IDs per second, 1 caller", "rate relative to no other connection",
			"IDs per second, 64 callers", "rate relative to no other connection",
		}}
		for i, name := range names {
			row := []string{name, digits(residents[i]/1e6, 2) + " MB", []string{"", each}[i]}
			for j := range 2 {
				of := ""
				if i > 0 {
					of = spread(valuesOf(rounds[2+j], calls, rounds[j]))
				}
				row = append(row, amount(median(valuesOf(rounds[2*i+j], calls, nil))), of)
			}
			t.rows = append(t.rows, row)
		}
		return t, nil
	}}
}

// surround opens idle connections to a member, and returns the member's resident memory afterwards.
func (e *env) surround(ctx context.Context, m *member, count int, started *closers) (bytes float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	opened := ""
	c, err := e.start(roleCrowd, nil, func(line string) bool {
		opened = line
		return false
	}, self, roleArgument, roleCrowd, m.api, strconv.Itoa(count))
	if err != nil {
		return 0, err
	}
	started.add(c.stop)
	if opened == "" {
		return 0, fmt.Errorf("the connections were not opened: %w", c.await(ctx, func(context.Context) error { return errors.New("no line") }))
	}
	after, err := m.metrics(ctx)
	return after[resident], err
}
