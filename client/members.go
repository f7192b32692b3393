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
	// lookEvery is the time between two requests for the list of members after a possible change. While the list stays the
	// same and no connection breaks, the time doubles up to rarely times lookEvery, because there may be a hundred thousand clients.
	lookEvery = 10 * time.Second
	rarely    = 16
	// lookPause is the least time between two such requests.
	lookPause = time.Second
	// lookFor is the time limit of such a request.
	lookFor = 5 * time.Second
)

// members learns the addresses of the cluster's members and updates the channels.
//
// The addresses given to New stay in use next to those that members advertise, because advertised addresses may not be
// reachable from here. If a member has advertised an address and no member does now, its member was removed and the
// address is dropped.
type members struct {
	seeds    []string
	learned  []string        // advertised addresses, sorted; nil: not known yet
	ever     map[string]bool // addresses of seeds that were advertised at some time
	pause    time.Duration   // lookPause
	every    time.Duration   // lookEvery
	limit    time.Duration   // lookFor
	ask      snowraftv1.ClusterServiceClient
	channels []*channel

	news   chan struct{} // a connection broke
	begin  sync.Once
	life   context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func newMembers(seeds []string) *members {
	m := &members{
		seeds: seeds, ever: make(map[string]bool), pause: lookPause, every: lookEvery, limit: lookFor,
		news: make(chan struct{}, 1),
	}
	m.life, m.cancel = context.WithCancel(context.Background())
	return m
}

// start starts following the membership, unless it was started before.
func (m *members) start() { m.begin.Do(func() { m.done.Go(m.run) }) }

// stop stops following the membership and waits for the goroutine.
func (m *members) stop() {
	m.begin.Do(func() {}) // waits for a start in progress and prevents later ones
	m.cancel()
	m.done.Wait()
}

// changed reports a possible change of the membership to the goroutine. It never blocks.
func (m *members) changed() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

func (m *members) run() {
	for every := m.every; ; {
		if changed := m.refresh(); changed {
			every = m.every
		}
		if !wait(m.life, m.pause, nil) {
			return
		}
		rest := time.NewTimer(every - m.pause - rand.N(every/4)) // spreads the requests of clients that started together
		select {
		case <-rest.C:
			every = min(2*every, rarely*m.every)
		case <-m.news:
			every = m.every
		case <-m.life.Done():
		}
		if rest.Stop(); m.life.Err() != nil {
			return
		}
	}
}

// refresh requests the list of members once, and reports whether the list has changed. If no member answers, the channels
// use the last known addresses and all addresses given to New.
func (m *members) refresh() (changed bool) {
	ctx, cancel := context.WithTimeout(m.life, m.limit)
	defer cancel()
	resp, err := m.ask.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		m.publish(m.seeds)
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
	m.publish(slices.DeleteFunc(slices.Clone(m.seeds), func(a string) bool {
		return m.ever[a] && !slices.Contains(m.learned, a)
	}))
	return changed
}

func (m *members) publish(seeds []string) {
	if m.learned == nil {
		return
	}
	for _, ch := range m.channels {
		ch.update(seeds, m.learned)
	}
}
