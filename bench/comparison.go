package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// figures holds the results of one turn of a contender, by name.
type figures map[string]float64

// contender is one of the compared ways to do the work.
type contender struct {
	name string
	// against is the name of the contender that ratios refer to; empty if there is none.
	against string
	turn    turn
}

// turn measures for about the duration d.
type turn func(ctx context.Context, d time.Duration) (figures, error)

// comparison is a table with a row for each contender.
type comparison struct {
	heading    string // heading of the column of contenders
	contenders []contender
	columns    []column
	targets    []target
}

// column shows a figure, or its ratio to the figure of the contender named by against.
type column struct {
	title  string
	figure string
	ratio  bool
	format format
}

// target is the bound of a contender's figure, or of its ratio.
type target struct {
	text   string // text, such as "a rate of at least 0.95 of the echo's"
	of     string // name of the contender
	figure string
	ratio  bool
	// fastest, if set, makes the bound one of the ratio to the greatest figure among these contenders in each round.
	fastest []string
	// Either atLeast or atMost is set.
	atLeast, atMost float64
	format          format
}

// measure runs the contenders in turns and returns the table.
func (c comparison) measure(ctx context.Context, e *env) (*table, error) {
	rounds, err := c.rounds(ctx, e)
	if err != nil {
		return nil, err
	}
	return c.table(rounds), nil
}

// rounds runs the contenders in turns, in reverse order every other round. Before the first round, each contender
// has a short turn that does not count. rounds returns the figures of each contender by round.
func (c comparison) rounds(ctx context.Context, e *env) ([][]figures, error) {
	order := make([]int, len(c.contenders))
	for i := range order {
		order[i] = i
		if _, err := c.contenders[i].turn(ctx, min(e.duration/4, 500*time.Millisecond)); err != nil {
			return nil, fmt.Errorf("%s: %w", c.contenders[i].name, err)
		}
	}
	rounds := make([][]figures, len(c.contenders))
	for range e.rounds {
		for _, i := range order {
			f, err := c.contenders[i].turn(ctx, e.duration)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.contenders[i].name, err)
			}
			rounds[i] = append(rounds[i], f)
		}
		slices.Reverse(order)
	}
	return rounds, nil
}

// table returns a table of the medians of the rounds of each contender.
func (c comparison) table(rounds [][]figures) *table {
	t := &table{columns: []string{c.heading}}
	for _, col := range c.columns {
		t.columns = append(t.columns, col.title)
	}
	for i, of := range c.contenders {
		row := []string{of.name}
		for _, col := range c.columns {
			cell := ""
			if value, ok := c.value(rounds, i, col.figure, col.ratio); ok {
				cell = col.format(value)
			}
			row = append(row, cell)
		}
		t.rows = append(t.rows, row)
	}
	for _, goal := range c.targets {
		i := c.find(goal.of)
		value, ok := c.value(rounds, i, goal.figure, goal.ratio)
		if goal.fastest != nil {
			all := valuesOf(rounds[i], goal.figure, c.greatest(rounds, goal.fastest, goal.figure))
			value, ok = median(all), len(all) > 0
		}
		if ok {
			t.notes = append(t.notes, goal.judge(value))
		}
	}
	return t
}

func (c comparison) find(name string) int {
	return slices.IndexFunc(c.contenders, func(of contender) bool { return of.name == name })
}

// greatest returns the greatest value of a figure among contenders in each round.
func (c comparison) greatest(rounds [][]figures, names []string, figure string) []figures {
	var all []figures
	for _, name := range names {
		for n, f := range rounds[c.find(name)] {
			if n == len(all) {
				all = append(all, figures{})
			}
			all[n][figure] = max(all[n][figure], f[figure])
		}
	}
	return all
}

// value returns the median of a figure over the rounds, or the median of its ratios per round. It returns false
// if the figure was not measured.
func (c comparison) value(rounds [][]figures, i int, figure string, ratio bool) (float64, bool) {
	if i < 0 {
		return 0, false
	}
	base := -1
	if ratio {
		if base = c.find(c.contenders[i].against); base < 0 {
			return 0, false
		}
	}
	var others []figures
	if ratio {
		others = rounds[base]
	}
	all := valuesOf(rounds[i], figure, others)
	return median(all), len(all) > 0
}

// valuesOf returns a figure of each round; if others is set, its ratio to their figure in each round. It returns nothing
// if the figure was not measured.
func valuesOf(rounds []figures, figure string, others []figures) (all []float64) {
	for n, f := range rounds {
		value, ok := f[figure]
		if !ok {
			return nil
		}
		if others != nil {
			other := others[n][figure]
			if other == 0 {
				return nil
			}
			value /= other
		}
		all = append(all, value)
	}
	return all
}

// judge returns a text that reports whether the target is met.
func (g target) judge(value float64) string {
	outcome := "Met"
	if g.atLeast != 0 && value < g.atLeast || g.atMost != 0 && value > g.atMost {
		outcome = "**Not met**"
	}
	return fmt.Sprintf("Target: %s. %s: %s.", g.text, outcome, g.format(value))
}

// median returns the middle value, or the mean of the two middle values; 0 if there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
