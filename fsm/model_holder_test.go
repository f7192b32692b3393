package fsm

import (
	"bytes"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The steps of the processes of a walk: they send requests, receive or lose the
// answers, and issue from their grants.

// jump makes a process's clock incorrect, or correct again.
func (w *world) jump(p *process) {
	p.skew = []int64{0, -modelUnit, -4 * modelUnit, -20 * modelUnit, modelUnit, 6 * modelUnit, -40 * modelUnit}[w.choose("skew", 7)]
}

func (w *world) clock(p *process) int64 { return w.now + p.skew }

func (w *world) window() int64 { return int64(1+w.choose("window", 6)) * modelUnit }

func (w *world) acquire(p *process) {
	spec := w.specs()[w.choose("layout", len(w.specs()))]
	c := &commandv1.AcquireWorker{Layout: spec.Name, Holder: p.name, NonceHash: p.nonceHash(), WindowMs: w.window()}
	if w.leases {
		w.describe(c)
	}
	w.ask(p, nil, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: c}})
}

func (w *world) extend(p *process) {
	l := p.lane
	if l == nil {
		return
	}
	if l.extension == 0 {
		w.drawn++
		l.extension = w.drawn
	}
	c := &commandv1.ExtendWindow{
		Layout: l.layout, Worker: l.grant.Worker, Token: l.grant.Token, NonceHash: l.nonce, UntilTick: l.grant.Until, WindowMs: w.window(),
		ExtensionId: l.extension,
	}
	if !w.noForge {
		w.forge(&c.Token, &c.NonceHash, &c.UntilTick)
		if other := w.victim(p); other != nil {
			c.Layout, c.Worker, c.Token, c.UntilTick, c.NonceHash = other.layout, other.grant.Worker, other.grant.Token, other.grant.Until, p.nonceHash()
		}
		if w.choose("clone", 16) == 0 { // a copy of the process, which draws another ID
			c.ExtensionId += 1 << 40
		}
	}
	w.ask(p, l, &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: c}})
}

func (w *world) release(p *process) {
	l := p.lane
	if l == nil {
		return
	}
	p.lane = nil
	next := l.grant.From
	if l.used {
		next = l.tick
		if l.seq > 0 {
			next++
		}
	}
	c := &commandv1.ReleaseWorker{
		Layout: l.layout, Worker: l.grant.Worker, Token: l.grant.Token, NonceHash: l.nonce, UntilTick: l.grant.Until, NextTick: next,
	}
	if !w.noForge {
		w.forge(&c.Token, &c.NonceHash, &c.UntilTick)
		if other := w.victim(p); other != nil {
			c.Layout, c.Worker, c.Token, c.UntilTick, c.NonceHash = other.layout, other.grant.Worker, other.grant.Token, other.grant.Until, p.nonceHash()
			c.NextTick = other.grant.From
		}
	}
	w.ask(p, l, &commandv1.Command{Body: &commandv1.Command_ReleaseWorker{ReleaseWorker: c}})
}

// victim sometimes returns the lane of another process: ListWorkers shows all of it to every caller, except the nonce.
func (w *world) victim(p *process) *lane {
	if w.choose("steal", 16) > 0 {
		return nil
	}
	other := w.processes[w.choose("victim", len(w.processes))]
	if other == p {
		return nil
	}
	return other.lane
}

// forge makes one claim in eight untrue.
func (w *world) forge(token *uint64, nonce *[]byte, until *int64) {
	switch w.choose("forge", 24) {
	case 0:
		*token += 1 << 40
	case 1:
		*nonce = bytes.Repeat([]byte{0xff}, hashBytes)
	case 2:
		*until += int64(w.choose("until", 5)) - 2
	}
}

// ask leaves a request in the log's inbox. The process gives up its request before.
func (w *world) ask(p *process, l *lane, cmd *commandv1.Command) {
	cmd.Version, cmd.ClockAtMs, cmd.Actor = MinVersion(cmd), w.clock(p), w.actor(p)
	if cmd.GetActor() == nil && len(cmd.GetAllocateBlock().GetRequestId()) > 0 && w.choose("open", 8) > 0 {
		cmd.Actor = &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}
	}
	data, err := Encode(cmd)
	if err != nil {
		panic(err)
	}
	p.asked = &proposal{data: data, cmd: cmd, process: p, starts: p.starts, lane: l}
	w.machines[0].View(func(s *State) { p.asked.refuted = s.Refutation(cmd) })
	w.pending = append(w.pending, p.asked)
	if len(w.pending) > 12 { // lost on the way
		w.pending = w.pending[1:]
	}
}

// commitAsked commits a request. No later state grants a claim that a state has refuted.
func (w *world) commitAsked(p *proposal) (Result, error) {
	result, err := w.commit(p.data, p.cmd)
	if err == nil && p.refuted != nil && result.Err == nil {
		err = violated("refutation", "index %d grants what was refuted before: %v", w.index, p.refuted)
	}
	return result, err
}

// apply applies some request, now or again; the answer may come late or get lost.
func (w *world) apply() error {
	if len(w.pending) == 0 {
		return nil
	}
	i := w.choose("pending", len(w.pending))
	p := w.pending[i]
	result, err := w.commitAsked(p)
	if err != nil {
		return err
	}
	if w.noRepeat || w.choose("again", 3) > 0 {
		w.pending = append(w.pending[:i:i], w.pending[i+1:]...)
	}
	switch w.choose("answer", 4) {
	case 0: // lost
	case 1:
		w.answers = append(w.answers, reply{p, result, w.era, w.term})
	default:
		w.receive(reply{p, result, w.era, w.term})
	}
	return nil
}

// applyAndAnswer is the ordinary case: the last request, applied once and answered.
func (w *world) applyAndAnswer() error {
	if len(w.pending) == 0 {
		return nil
	}
	p := w.pending[len(w.pending)-1]
	w.pending = w.pending[:len(w.pending)-1]
	result, err := w.commitAsked(p)
	if err == nil {
		w.receive(reply{p, result, w.era, w.term})
	}
	return err
}

func (w *world) deliver() {
	if len(w.answers) > 0 {
		i := w.choose("late", len(w.answers))
		w.receive(w.answers[i])
		w.answers = append(w.answers[:i:i], w.answers[i+1:]...)
	}
}

// receive gives a holder an answer, which it takes only if it waits for that request.
func (w *world) receive(a reply) {
	p := a.to.process
	if p.asked != a.to || p.starts != a.to.starts {
		return
	}
	p.asked = nil
	w.takeBlock(p, a)
	switch {
	case a.to.cmd.GetAcquireWorker() != nil && a.result.Err == nil:
		c := a.to.cmd.GetAcquireWorker()
		l, _ := w.machines[0].Layout(c.GetLayout())
		p.lane = &lane{layout: c.GetLayout(), grant: a.result.Grant, tick: a.result.Grant.From, nonce: c.GetNonceHash(), layoutValue: l}
	case a.to.cmd.GetExtendWindow() != nil && p.lane == a.to.lane && p.lane != nil:
		if a.result.Err == nil { // else it keeps what it has until it acquires another worker
			p.lane.grant.Until, p.lane.extension = a.result.Grant.Until, 0
		}
	}
}

// issue takes a few IDs at or after the lane's position.
func (w *world) issue(p *process) error {
	l := p.lane
	if l == nil {
		return nil
	}
	if at := l.layoutValue.TickAt(w.clock(p)); at > l.tick && at < l.grant.Until {
		l.tick, l.seq = at, 0
	}
	for range 1 + w.choose("count", 6) {
		if l.tick >= l.grant.Until {
			return nil
		}
		if err := w.issueOne(l); err != nil {
			return err
		}
		l.used = true
		if l.seq++; uint64(l.seq) == l.layoutValue.Sequences() {
			l.tick, l.seq = l.tick+1, 0
		}
	}
	return nil
}

func (w *world) issueOne(l *lane) error {
	if l.grant.Worker >= l.layoutValue.Workers() {
		return violated("range", "worker %d", l.grant.Worker)
	}
	id := l.layoutValue.Compose(l.tick, l.grant.Worker, uint64(l.seq))
	if w.issued[l.layout] == nil {
		w.issued[l.layout] = map[uint64]bool{}
	}
	if w.issued[l.layout][id] {
		return violated("duplicate", "ID %d of worker %d at tick %d, issued again under token %d", id, l.grant.Worker, l.tick, l.grant.Token)
	}
	w.issued[l.layout][id] = true
	if w.idsOnly {
		return nil
	}
	return w.audit.used(l)
}

// crash kills a process and starts it again.
func (w *world) crash(p *process) {
	p.starts, p.lane, p.asked, p.block, p.repeat = p.starts+1, nil, nil, nil, nil
}
