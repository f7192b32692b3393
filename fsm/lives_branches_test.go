package fsm

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"
)

// The branches: members are set back, so that a life has two histories, with equal indexes and terms. Both end, and their
// states, or those of a moment before, are restored together, with older ones of either history. A window, a number or an answer of any branch is granted
// in no later life. Numbers that both branches grant meanwhile do not count.

// branch returns a copy of the life, which continues on its own from the present moment.
func (w *lives) branch(life int) (*lives, error) {
	s, err := w.read(w.write(w.s))
	if err != nil {
		return nil, err
	}
	b := *w
	b.s, b.life, b.term, b.log, b.stored, b.since, b.backups = s, life, w.term+1, nil, nil, 0, nil
	b.forced, b.known = w.forcedUntil(len(w.longest)), maps.Clone(w.known)
	b.positions = slices.Clone(w.positions)
	b.longest, b.asked, b.claims = slices.Clone(w.longest), slices.Clone(w.asked), slices.Clone(w.claims)
	b.numbers, b.lastOf, b.answered = maps.Clone(w.numbers), maps.Clone(w.lastOf), maps.Clone(w.answered)
	b.sent, b.applied, b.granted = maps.Clone(w.sent), maps.Clone(w.applied), map[livesWorker]map[livesOwner]Grant{}
	b.extensions, b.placed = slices.Clone(w.extensions), map[livesPlaces]bool{}
	renamed := func(was int) int {
		if was == w.life {
			return life
		}
		return was
	}
	for i := range b.claims {
		b.claims[i].life = renamed(b.claims[i].life)
	}
	for cmd, was := range b.sent {
		b.sent[cmd] = renamed(was)
	}
	for index, was := range b.applied {
		b.applied[index] = renamed(was)
	}
	for is := range w.placed {
		is.life = renamed(is.life)
		b.placed[is] = true
	}
	for k, owners := range w.granted {
		b.granted[k] = map[livesOwner]Grant{}
		for owner, g := range owners {
			b.granted[k][livesOwner{renamed(owner.life), owner.token}] = g
		}
	}
	return &b, nil
}

// setBack lives two branches of so many steps each, and a life that begins with the states of both.
func (w *lives) setBack(steps int) error {
	var branches [2]*lives
	for i := range branches {
		b, err := w.branch(w.life + 1 + i)
		if err != nil {
			return err
		}
		for range steps {
			if err := b.step(); err != nil {
				return err
			}
		}
		branches[i] = b
	}
	a, b := branches[0], branches[1]
	if err := contradict(a, b); err != nil {
		return err
	}
	s, moments, err := a.reunite(b)
	if err != nil {
		return err
	}
	*w = *a
	w.absorb(b)
	w.life = b.life
	return w.begin(s, moments)
}

// reunite returns one state of both branches, and how far it knows them.
func (w *lives) reunite(other *lives) (*State, livesBackup, error) {
	var sources []livesBackup
	unknown := map[string]bool{} // a branch was granted a number after its last backup
	for _, b := range []*lives{w, other} {
		last := b.backup(b.s, b.s.Frozen("", 100), b.index, len(b.longest))
		if n := len(b.backups); n > 0 && w.choose("incomplete", 3) == 0 {
			last = b.backups[n-1]
		}
		sources = append(sources, last)
		for _, older := range b.backups {
			if w.choose("older", 3) == 0 {
				sources = append(sources, older)
			}
		}
		for _, name := range livesNames {
			unknown[name] = unknown[name] || b.lastOf[name] > last.known[name]
		}
	}
	var states []*State
	joined := livesBackup{moment: 1, known: map[string]int{}, forced: w.forced}
	for _, from := range sources {
		s, err := w.read(from.data)
		if err != nil {
			return nil, joined, err
		}
		s.certain = from.certain
		states, joined.index = append(states, s), max(joined.index, from.index)
	}
	main := w.choose("main", len(states))
	states[0], states[main] = states[main], states[0]
	if err := states[0].Merge(states[1:]...); err != nil {
		return nil, joined, violated("merge", "%v", err)
	}
	for _, name := range livesNames {
		if !unknown[name] {
			joined.known[name] = len(w.longest) + len(other.longest)
		}
	}
	return states[0], joined, nil
}

// absorb adds what another branch was granted.
func (w *lives) absorb(b *lives) {
	w.now = max(w.now, b.now)
	w.longest = append(w.longest, b.longest...)
	w.asked, w.claims = append(w.asked, b.asked...), append(w.claims, b.claims...)
	maps.Copy(w.numbers, b.numbers)
	maps.Copy(w.answered, b.answered)
	maps.Copy(w.sent, b.sent)
	maps.Copy(w.applied, b.applied)
	maps.Copy(w.placed, b.placed)
	w.extensions, w.lastJob = append(w.extensions, b.extensions...), max(w.lastJob, b.lastJob)
	for name, place := range b.lastOf {
		w.lastOf[name] = max(w.lastOf[name], place)
	}
	for k, owners := range b.granted {
		if w.granted[k] == nil {
			w.granted[k] = map[livesOwner]Grant{}
		}
		maps.Copy(w.granted[k], owners)
	}
}

// runBranches lives some lives, two branches, and one life after them.
func (w *lives) runBranches(count, steps int) error {
	if err := w.run(count, steps); err != nil {
		return err
	}
	if err := w.setBack(steps); err != nil {
		return err
	}
	for range steps {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

func walkBranches(seed uint64) error {
	return newLives(seeded{rand.New(rand.NewPCG(seed, 2))}).runBranches(1+int(seed%2), 30+int(seed%4)*20)
}

func TestBranches(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		d := drawn{t}
		if err := newLives(d).runBranches(1+d.choose("lives", 2), 8+d.choose("steps", 32)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBranchesSeeds(t *testing.T) {
	t.Parallel()
	if *walkSeed != 0 {
		if err := walkBranches(*walkSeed); err != nil {
			t.Fatal(err)
		}
		return
	}
	for seed := uint64(1); seed <= uint64(depth.Of(depth.Little(40, 80), 2000)); seed++ {
		if err := walkBranches(seed); err != nil {
			t.Fatalf("%v\nagain: go test ./fsm -run TestBranchesSeeds -fsm.seed %d", err, seed)
		}
	}
}
