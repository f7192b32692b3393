package main

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/snowraft/snowraft/client"
)

type numbering struct {
	First  string   `json:"first"`
	Count  int      `json:"count"`
	Step   string   `json:"step"`
	Texts  []string `json:"texts,omitempty"`
	Period string   `json:"period,omitempty"`
}

// numbers takes numbers, and their texts by a repetition with the same request ID.
func (d *driver) numbers(ctx context.Context, a params) (any, error) {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return nil, err
	}
	s := c.Sequence(a.Sequence)
	id := a.RequestID
	if id == "" {
		id = rand.Text()
	}
	take := func() (client.Numbers, error) { return s.TakeOnce(ctx, id, a.Count) }
	write := func() ([]string, error) { return s.TextsOnce(ctx, id, a.Count) }
	if a.Period != "" {
		p := client.Period{Name: a.Period, From: a.From, RequestID: id}
		take = func() (client.Numbers, error) { return s.TakeOf(ctx, p, a.Count) }
		write = func() ([]string, error) { return s.TextsOf(ctx, p, a.Count) }
	}
	n, err := take()
	if err != nil {
		return nil, err
	}
	written, err := write()
	if err != nil {
		return nil, err
	}
	answer := numbering{First: strconv.FormatInt(n.First, 10), Count: n.Count, Step: strconv.FormatInt(n.Increment, 10), Texts: written}
	if n.Period != 0 {
		answer.Period = n.Period.String()
	}
	return answer, nil
}

func (d *driver) newBlocks(a params) error {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return err
	}
	var options []client.BlocksOption
	if a.Size > 0 {
		options = append(options, client.WithBlocksFirstSize(a.Size))
	}
	b, err := client.NewBlocks(c, a.Sequence, options...)
	if err == nil {
		keep(d, d.blocks, a.Blocks, a.Client, b)
	}
	return err
}

func (d *driver) draw(ctx context.Context, a params) (any, error) {
	b, err := find(d, d.blocks, a.Blocks)
	if err != nil {
		return nil, err
	}
	var all []int64
	for range a.Count {
		n, err := b.Next(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return map[string][]string{"numbers": texts(all)}, nil
}
