package main

import (
	"context"
	"maps"
	"time"
)

// memory is the name of the figure of resident memory, in bytes.
const memory = "resident"

// collector compares a member that collects garbage when its heap has doubled, as is Go's
// default, with members that wait longer.
func collector() section {
	const usual = "GOGC=100"
	return section{name: "collector", title: "The garbage collector", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		c := comparison{
			heading: "environment of the member; 64 callers of `GenerateIds`, one ID per call",
			columns: []column{
				{"calls per second", calls, false, amount}, {"rate relative to `GOGC=100`", calls, true, ratio},
				{"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds}, {"p99 relative to `GOGC=100`", p99, true, ratio},
				{"resident memory", memory, false, times(1e-6, with(" MB", whole))},
			},
		}
		for _, setting := range []string{usual, "GOGC=200", "GOGC=400", "GOGC=800"} {
			members, err := e.startCluster(ctx, 1, &started, setting)
			if err != nil {
				return nil, err
			}
			callers, err := oneByOne(members[0].api, 64, &started)
			if err != nil {
				return nil, err
			}
			next := contender{name: "`" + setting + "`", turn: members[0].withMemory(loadTurn(callers))}
			if setting != usual {
				next.against = "`" + usual + "`"
			}
			c.contenders = append(c.contenders, next)
		}
		return c.measure(ctx, e)
	}}
}

// withMemory returns a turn that runs another turn and adds the member's resident memory at
// the end.
func (m *member) withMemory(turn turn) turn {
	return func(ctx context.Context, d time.Duration) (figures, error) {
		f, err := turn(ctx, d)
		if err != nil {
			return nil, err
		}
		metrics, err := m.metrics(ctx)
		if err != nil {
			return nil, err
		}
		f = maps.Clone(f)
		f[memory] = metrics[resident]
		return f, nil
	}
}
