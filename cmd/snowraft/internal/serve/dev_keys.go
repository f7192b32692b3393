package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The states of members that dev shows.
const (
	stateUp       = "up"
	stateCut      = "cut off"
	stateKilled   = "killed"
	stateStarting = "starting"
	stateGone     = "gone"
)

const (
	// drawEvery is the interval between two views of the display.
	drawEvery = 500 * time.Millisecond
	// lookTimeout is the longest time of a call that shows the leader of a member.
	lookTimeout = 400 * time.Millisecond
	ctrlC       = 3
)

// display shows the members of dev on a terminal, lets a person kill, start and cut them by keys, and shows what clients see meanwhile.
// Only its loop changes it, except for the leaders.
type display struct {
	fleet   *fleet
	in, out *os.File
	style   cli.Style
	states  [devMembers]string
	callers []*caller
	pending byte   // key that waits for the number of a member; 0 if there is none
	note    string // outcome of the last key
	rows    int    // lines of the last view

	ended   chan int // members that stopped without a key
	started chan startedMember

	mu      sync.Mutex
	leaders [devMembers]string // leader that each member sees; empty if it sees none
}

// startedMember is the outcome of the key that starts a member.
type startedMember struct {
	index  int
	member devMember
	err    error
}

// terminal returns the terminal of this process; ok is false without one, for one that cannot draw, and in the background.
func (h *Host) terminal() (in, out *os.File, style cli.Style, ok bool) {
	drawn, style := h.Terminal(h.Stdout)
	in, file := h.Stdin.(*os.File)
	if !drawn || !file || !term.IsTerminal(int(in.Fd())) || !foreground(int(in.Fd())) || h.Env("TERM") == "dumb" {
		return nil, nil, style, false
	}
	return in, h.Stdout.(*os.File), style, true
}

// run shows the display until ctx ends, a key ends it, or no member is left.
func (b *display) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := b.fleet
	f.hush(slog.LevelInfo) // warnings about killed members are normal, and would hide the display
	var addresses []string
	for i, m := range f.members {
		b.states[i] = stateUp
		addresses = append(addresses, m.APIAddr())
	}
	options, err := f.access.Options()
	if err != nil {
		return err
	}
	c, err := client.New(addresses, append(options, client.WithTimeout(callerTimeout))...)
	if err != nil {
		return err
	}
	b.ended, b.started = make(chan int), make(chan startedMember)
	b.callers = newCallers(c, f.host.Now)
	var working sync.WaitGroup
	defer func() {
		cancel()
		working.Wait()
		_ = c.Close()
	}()
	for _, caller := range b.callers {
		working.Go(func() { caller.run(ctx) })
	}
	for i, m := range f.members {
		b.watch(ctx, i, m)
		working.Go(func() { b.look(ctx, i, m.APIAddr()) })
	}
	before, err := term.MakeRaw(int(b.in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(b.in.Fd()), before) }()
	return b.loop(ctx, b.keys(ctx), &working)
}

// keys returns the keys that a person presses. The reader lives as long as the process: a read cannot be canceled.
func (b *display) keys(ctx context.Context) <-chan byte {
	pressed := make(chan byte)
	go func() {
		key := make([]byte, 1)
		for {
			if _, err := b.in.Read(key); err != nil {
				return
			}
			select {
			case pressed <- key[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	return pressed
}

// watch reports when a member stops without a key.
func (b *display) watch(ctx context.Context, i int, m devMember) {
	go func() {
		select {
		case <-m.Done():
			select {
			case b.ended <- i:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	}()
}

// look keeps the leader that a member sees.
func (b *display) look(ctx context.Context, i int, address string) {
	r, err := cli.Dial([]string{address}, lookTimeout, b.fleet.access)
	if err != nil {
		return
	}
	defer r.Close()
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		resp, _ := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{}) // a failed call shows no leader
		b.mu.Lock()
		b.leaders[i] = resp.GetLeaderName()
		b.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// loop draws the display and obeys the keys.
func (b *display) loop(ctx context.Context, keys <-chan byte, working *sync.WaitGroup) error {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	var failed error
	for {
		if err := b.draw(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			if key == 'q' || key == 'Q' || key == ctrlC {
				return nil
			}
			b.press(ctx, key, working)
		case s := <-b.started:
			b.join(ctx, s)
		case i := <-b.ended:
			m := b.fleet.members[i]
			if b.states[i] == stateKilled || b.states[i] == stateStarting {
				continue // a key did it
			}
			b.states[i], b.note = stateGone, m.name+" has left the cluster"
			if err := m.Err(); err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
				b.note = fmt.Sprintf("%s stopped: %v", m.name, err)
			}
			_ = closeInOrder(nil, m.Close) // or the member keeps listening
			if b.states == [devMembers]string{stateGone, stateGone, stateGone} {
				return failed
			}
		case <-tick.C:
		}
	}
}

// actions are the keys that wait for the number of a member.
var actions = map[byte]string{'k': "kill", 's': "start", 'c': "cut off or join again"}

// press obeys a key.
func (b *display) press(ctx context.Context, key byte, working *sync.WaitGroup) {
	i := int(key) - '1'
	if b.pending == 0 || i < 0 || i >= devMembers {
		b.pending, b.note = 0, ""
		if _, ok := actions[key]; ok {
			b.pending = key
		}
		return
	}
	action := b.pending
	b.pending = 0
	m := b.fleet.members[i]
	switch state := b.states[i]; {
	case action == 'k' && (state == stateUp || state == stateCut):
		b.states[i], b.note = stateKilled, m.name+" is killed, without a goodbye"
		crashed, now := context.WithCancel(ctx)
		now()
		_ = m.Close(crashed) // an ended context leaves no time to return workers and blocks
		b.fleet.links.set(i, false)
	case action == 's' && state == stateKilled:
		b.states[i], b.note = stateStarting, m.name+" starts with its data"
		working.Go(func() {
			m, err := b.fleet.open(ctx, i)
			select {
			case b.started <- startedMember{i, m, err}:
			case <-ctx.Done():
				if err == nil {
					_ = closeInOrder(nil, m.Close)
				}
			}
		})
	case action == 'c' && state == stateUp:
		b.states[i], b.note = stateCut, m.name+" is cut off from the others; clients still reach it"
		b.fleet.links.set(i, true)
	case action == 'c' && state == stateCut:
		b.states[i], b.note = stateUp, m.name+" reaches the others again"
		b.fleet.links.set(i, false)
	default:
		b.note = fmt.Sprintf("%s is %s", m.name, state)
	}
}

// join takes over a member that a key started.
func (b *display) join(ctx context.Context, s startedMember) {
	if s.err != nil {
		b.states[s.index], b.note = stateKilled, s.err.Error()
		return
	}
	b.fleet.members[s.index] = s.member
	b.states[s.index], b.note = stateUp, s.member.name+" runs again"
	b.watch(ctx, s.index, s.member)
}

// Control sequences of the terminal.
const (
	upRows  = "\x1b[%dA\r"
	endLine = "\x1b[K\r\n"
)

// draw writes the display over its last view, with a single write.
func (b *display) draw() error {
	var text, view strings.Builder
	for n, block := range []cli.Block{b.memberTable(), b.callerTable(), b.help()} {
		if n > 0 {
			text.WriteByte('\n')
		}
		block(&text, b.style)
	}
	if b.rows > 0 {
		fmt.Fprintf(&view, upRows, b.rows)
	}
	b.rows = 0
	for line := range strings.Lines(cli.Visible(text.String())) {
		view.WriteString(strings.TrimSuffix(line, "\n") + endLine)
		b.rows++
	}
	_, err := io.WriteString(b.out, view.String())
	return err
}

func (b *display) memberTable() cli.Block {
	b.mu.Lock()
	leaders := b.leaders
	b.mu.Unlock()
	return cli.Table(b.fleet.members, []string{"KEY", "MEMBER", "STATE", "SEES AS LEADER"}, func(m devMember) []any {
		i := int(m.name[len(m.name)-1]) - '1'
		if b.states[i] != stateUp && b.states[i] != stateCut {
			leaders[i] = ""
		}
		return []any{i + 1, m.name, b.states[i], leaders[i]}
	})
}

func (b *display) callerTable() cli.Block {
	return cli.Table(b.callers, []string{"CLIENTS GET", "PER SECOND", "IN ALL", "FAILED", "LONGEST GAP", "DUPLICATES"}, (*caller).line)
}

func (b *display) help() cli.Block {
	text := b.note
	if b.pending != 0 {
		text = actions[b.pending] + " which member? 1, 2 or 3"
	}
	const most = 79
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return cli.Line("%s\n%s", b.style.Bold("Keys: k kill, s start, c cut off or join; then 1, 2 or 3. q stops."), text)
}
