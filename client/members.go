package client

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// lookEvery is the time between two requests for the list of members when that may have changed. While the list stays the
	// same, the time doubles up to rarely times as much: there may be a hundred thousand clients.
	lookEvery = 10 * time.Second
	rarely    = 16
	// lookPause is between two such questions at least.
	lookPause = time.Second
	// lookFor is the time for which one is tried.
	lookFor = 5 * time.Second
)

// members learns where the members of the cluster are, and updates channels.
//
// The addresses that the client was given stay in use together with those that members advertise: the latter may
// not be reachable from here. One that a member has advertised, and none does now, is that
// of a member that was removed.
type members struct {
	seeds    []string
	learned  []string        // the addresses that are advertised, in order; nil: not known yet
	ever     map[string]bool // those of seeds that were advertised at some time
	pause    time.Duration   // lookPause
	every    time.Duration   // lookEvery
	limit    time.Duration   // lookFor
	ask      snowraftv1.ClusterServiceClient
	channels []*channel

	news  chan struct{} // a connection broke
	begin sync.Once
	life  context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
}

func newMembers(seeds []string) *members {
	m := &members{
		seeds: seeds, ever: make(map[string]bool), pause: lookPause, every: lookEvery, limit: lookFor,
		news: make(chan struct{}, 1),
	}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

// start begins to follow the membership, if it has not begun yet.
func (m *members) start() { m.begin.Do(func() { m.done.Go(m.run) }) }

// stop ends following; it waits for the goroutine.
func (m *members) stop() {
	m.begin.Do(func() {}) // waits for a start in progress; nothing begins afterwards
	m.end()
	m.done.Wait()
}

// changed says that the membership may have changed. It never blocks.
func (m *members) changed() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

func (m *members) run() {
	for every := m.every; ; every = min(2*every, rarely*m.every) {
		if changed := m.look(); changed {
			every = m.every
		}
		if !wait(m.life, m.pause, nil) {
			return
		}
		rest := time.NewTimer(every - m.pause - rand.N(every/4)) // clients that started together do not ask together
		select {
		case <-rest.C:
		case <-m.news:
			every = m.every
		case <-m.life.Done():
		}
		if rest.Stop(); m.life.Err() != nil {
			return
		}
	}
}

// look requests the members once, and reports whether there are others than before. If no member answers, those that
// were known and all that the client was given are tried.
func (m *members) look() (changed bool) {
	ctx, cancel := context.WithTimeout(m.life, m.limit)
	defer cancel()
	resp, err := m.ask.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		m.tell(m.seeds)
		return true
	}
	var learned []string
	leader := ""
	for _, member := range resp.GetMembers() {
		if a := member.GetApiAddress(); a != "" {
			if member.GetLeader() {
				leader = a
			}
			learned = append(learned, a)
			if slices.Contains(m.seeds, a) {
				m.ever[a] = true
			}
		}
	}
	for _, ch := range m.channels {
		ch.caller.standing.led(leader)
	}
	if len(learned) == 0 {
		return true
	}
	slices.Sort(learned)
	learned = slices.Compact(learned)
	changed = !slices.Equal(m.learned, learned)
	m.learned = learned
	m.tell(slices.DeleteFunc(slices.Clone(m.seeds), func(a string) bool {
		return m.ever[a] && !slices.Contains(m.learned, a)
	}))
	return changed
}

func (m *members) tell(seeds []string) {
	if m.learned == nil {
		return
	}
	for _, ch := range m.channels {
		ch.update(seeds, m.learned)
	}
}
