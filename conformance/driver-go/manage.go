package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/snowflake"
)

// info is a sequence, as far as the suite looks at it.
type info struct {
	Mode   string `json:"mode"`
	Step   string `json:"step"`
	Format string `json:"format"`
	Next   string `json:"next,omitempty"`
}

// manage performs the operations of the management of sequences.
func (d *driver) manage(ctx context.Context, op string, a params) (any, error) {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return nil, err
	}
	switch op {
	case "sequence":
		return infoOf(c.GetSequence(ctx, a.Sequence))
	case "update":
		return infoOf(c.UpdateSequence(ctx, a.Sequence, client.SequenceUpdate{Format: &a.Format}))
	case "set_next":
		return infoOf(c.Sequence(a.Sequence).SetNext(ctx, a.Next))
	case "delete":
		_, err := c.DeleteSequence(ctx, a.Sequence)
		return struct{}{}, err
	case "last":
		last, ok, err := c.Sequence(a.Sequence).Last(ctx)
		if err != nil || !ok {
			return struct{}{}, err
		}
		return map[string]string{"last": strconv.FormatInt(last, 10)}, nil
	case "decode_text":
		decoded, err := c.Sequence(a.Sequence).Decode(ctx, a.Text)
		if err != nil {
			return nil, err
		}
		state := strings.ReplaceAll(decoded.State.String(), " ", "-")
		return map[string]string{"number": strconv.FormatInt(decoded.Number, 10), "state": state}, nil
	default:
		names := []string{}
		for s, err := range c.ListSequences(ctx, a.Prefix) {
			if err != nil {
				return nil, err
			}
			names = append(names, s.Name)
		}
		return map[string][]string{"names": names}, nil
	}
}

func infoOf(s client.SequenceInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	i := info{Mode: s.Mode.String(), Step: strconv.FormatInt(*s.Increment, 10), Format: s.Format}
	if s.Next != nil {
		i.Next = strconv.FormatInt(*s.Next, 10)
	}
	return i, nil
}

// layout creates a layout, or returns the fields of one and the names of all.
func (d *driver) layout(ctx context.Context, op string, a params) (any, error) {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return nil, err
	}
	if op == "create_layout" {
		fields, err := snowflake.ParseFields(a.Fields)
		if err != nil {
			return nil, err
		}
		_, err = c.CreateLayout(ctx, snowflake.Spec{Name: a.Layout, Fields: fields, UnitMillis: 1, EpochMillis: a.EpochMs})
		return struct{}{}, err
	}
	l, err := c.GetLayout(ctx, a.Layout)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for l, err := range c.ListLayouts(ctx) {
		if err != nil {
			return nil, err
		}
		names = append(names, l.Name())
	}
	return map[string]any{"fields": snowflake.FormatFields(l.Spec().Fields), "names": names}, nil
}
