package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/test/breadth"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// Every branch: two branches of one history run in every order, as after a copy of all data directories, with elections,
// clocks and other commands. Each position of one is judged by the other, at every length of both. Terms and indexes of
// the branches are equal.

// everyBranch is one branch: its state, and the positions after each of its commands.
type everyBranch struct {
	state     *State
	term      uint64
	commands  string // a letter for each command since the copy
	positions []position.Position
}

// everyBranches are the branches. A branch is never changed, only replaced.
type everyBranches struct {
	branches [2]*everyBranch
	memory   bool // memory was copied too, so both branches continue the leadership
}

// newEveryBranches copies a history under its first leadership.
func newEveryBranches(t *testing.T, memory bool) *everyBranches {
	l := newOffice(t)
	n := &everyBranches{memory: memory}
	for i := range n.branches {
		n.branches[i] = &everyBranch{state: cloneState(l.State), term: l.term}
	}
	return n
}

// next returns the branch after one more command.
func (b *everyBranch) next(letter rune, by int) (*everyBranch, error) {
	term, index := b.term, b.state.index+1
	cmd := observe(false)
	switch letter {
	case 'e':
		term++
		cmd = lead(byte(1 + 100*by + len(b.commands)))
	case 'o':
		cmd = removeMember(fmt.Sprint("member-", by, "-", index))
	}
	cmd.ClockAtMs = epoch + int64(index)
	s := cloneState(b.state)
	if r := s.Apply(index, term, cmd); r.Failure() != nil {
		return nil, r.Failure()
	}
	var snapshot bytes.Buffer
	_, _ = s.WriteTo(&snapshot) // memory takes all
	back, err := ReadState(&snapshot, Version)
	if err != nil {
		return nil, err
	}
	return &everyBranch{back, term, b.commands + string(letter), append(slices.Clip(b.positions), s.position())}, nil
}

var errEveryVerdict = errors.New("wrong verdict")

// check judges the positions of each branch by the other and by its own state.
func (n *everyBranches) check() error {
	for i, from := range n.branches {
		for at, p := range from.positions {
			for j, judge := range n.branches {
				verdict, reason := judge.state.judge(p)
				want := []Verdict{Consistent}
				if i != j {
					want = n.verdicts(from, judge, at+1)
				}
				if !slices.Contains(want, verdict) || (reason != "") != (verdict == SetBack || verdict == Missing) {
					return fmt.Errorf("%w: %d (%q) of %q about position %d of %q, want one of %d", errEveryVerdict, verdict, reason, judge.commands, at+1, from.commands, want)
				}
				sealed := cloneState(judge.state)
				if r := sealed.Apply(judge.state.index+1, judge.term, seal(p.Append(nil))); (r.Err == nil) != (reason != "") {
					return fmt.Errorf("%w: a seal of %q for position %d of %q: %w", errEveryVerdict, judge.commands, at+1, from.commands, r.Err)
				}
			}
		}
	}
	return nil
}

// verdicts returns the possible verdicts of a branch about the position after the first length commands of the other.
func (n *everyBranches) verdicts(from, judge *everyBranch, length int) []Verdict {
	known := min(length, len(judge.commands))
	common := 0
	for common < known && from.commands[common] == 'c' && judge.commands[common] == 'c' { // only clocks are equal
		common++
	}
	lastClock := strings.LastIndexByte(from.commands[:length], 'c')
	elected := strings.Contains(from.commands[:length]+judge.commands[:known], "e")
	switch {
	case common == length:
		return []Verdict{Consistent}
	case common == len(judge.commands) && elected:
		return []Verdict{Missing}
	case common == len(judge.commands):
		return []Verdict{Unknown}
	case elected || lastClock >= common && lastClock < known:
		return []Verdict{SetBack, Missing}[:1+min(length-known, 1)]
	case n.memory: // one leadership, and no clock since the branches parted
		return []Verdict{Consistent, Unknown}
	}
	return nil
}

// steps returns all that can follow. Without memory, the second branch begins with an election, because its members restart.
func (n *everyBranches) steps() iter.Seq[breadth.Step[*everyBranches]] {
	return func(yield func(breadth.Step[*everyBranches]) bool) {
		for i, b := range n.branches {
			for _, letter := range "ceo" {
				if !n.memory && i == 1 && b.commands == "" && letter != 'e' {
					continue
				}
				next := *n
				made, err := b.next(letter, i)
				if err == nil {
					next.branches[i] = made
					err = next.check()
				}
				if !yield(breadth.Step[*everyBranches]{Name: fmt.Sprintf("%c%d", letter, i), Next: &next, Err: err}) {
					return
				}
			}
		}
	}
}

func TestEveryBranch(t *testing.T) {
	t.Parallel()
	seed := maphash.MakeSeed()
	for name, memory := range map[string]bool{"copied directories": false, "copied memory": true} {
		t.Run(name, func(t *testing.T) {
			world := breadth.World[*everyBranches]{
				Root: newEveryBranches(t, memory),
				Key: func(n *everyBranches) uint64 {
					return maphash.Comparable(seed, [2]string{n.branches[0].commands, n.branches[1].commands})
				},
				Steps: (*everyBranches).steps,
			}
			seen, err := world.Walk(depth.Of(depth.Little(3, 4), 6))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states, %d steps", seen.States, seen.Steps)
		})
	}
}
