// Package breadth visits every state of a small world, in the order of the number of steps from its root. It draws nothing.
// Only tests import it.
package breadth

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Step is an action in a state. Err reports that the action broke a promise.
type Step[N any] struct {
	Name string
	Next N
	Err  error
}

// World is a world that a walk visits. Two nodes with one key count as one state: what can follow them is the same.
type World[N any] struct {
	Root  N
	Key   func(N) uint64 // a hash of the state
	Steps func(N) iter.Seq[Step[N]]
}

// Seen counts what a walk visited.
type Seen struct {
	States int // states within the depth, the root included
	Steps  int // steps that were taken
}

// visit is a state that was reached, and the step that reached it first.
type visit struct {
	from int // place of the state before it
	step string
}

// Walk takes every order of steps up to a depth. Its error is the first broken promise, after as few steps as possible.
func (w World[N]) Walk(depth int) (Seen, error) {
	visits, seen := []visit{{from: -1}}, Seen{States: 1}
	known := map[uint64]bool{w.Key(w.Root): true}
	type node struct {
		state N
		place int
	}
	for level := []node{{w.Root, 0}}; depth > 0 && len(level) > 0; depth-- {
		var next []node
		for i, n := range level {
			level[i] = node{} // leaves memory to the next level
			for step := range w.Steps(n.state) {
				seen.Steps++
				if step.Err != nil {
					return seen, fmt.Errorf("%w after %s", step.Err, path(append(visits, visit{n.place, step.Name}), len(visits)))
				}
				key := w.Key(step.Next)
				if known[key] {
					continue
				}
				known[key] = true
				next = append(next, node{step.Next, len(visits)})
				visits = append(visits, visit{n.place, step.Name})
				seen.States++
			}
		}
		level = next
	}
	return seen, nil
}

// path returns the steps that lead to a state.
func path(visits []visit, place int) string {
	var steps []string
	for ; place > 0; place = visits[place].from {
		steps = append(steps, visits[place].step)
	}
	slices.Reverse(steps)
	return strings.Join(steps, ", ")
}
