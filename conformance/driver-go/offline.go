package main

import (
	"fmt"
	"strconv"

	"github.com/snowraft/snowraft/snowflake"
)

func preset(name string) (*snowflake.Layout, error) {
	l, ok := snowflake.Preset(name)
	if !ok {
		return nil, fmt.Errorf("unknown preset %q", name)
	}
	return l, nil
}

func decode(a params) (any, error) {
	l, err := preset(a.Layout)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(a.ID, 10, 64)
	if err != nil {
		return nil, err
	}
	p, err := l.Unpack(id)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"tick_at_ms": l.MillisAt(p.Tick), "worker": strconv.FormatUint(p.Worker, 10),
		"sequence": strconv.FormatUint(p.Sequence, 10), "datacenter": strconv.FormatUint(p.Datacenter, 10),
	}, nil
}

func encode(a params) (any, error) {
	l, err := preset(a.Layout)
	if err != nil {
		return nil, err
	}
	sequence, err := strconv.ParseUint(a.Sequence, 10, 64)
	if err != nil {
		return nil, err
	}
	id, err := l.Pack(snowflake.Parts{Tick: l.TickAt(a.TickAtMs), Worker: a.Worker, Sequence: sequence, Datacenter: a.Datacenter})
	return map[string]string{"id": strconv.FormatUint(id, 10)}, err
}
