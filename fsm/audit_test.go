package fsm

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// audit has the rules once more, in the plainest way, and the ghost of every cell: its
// owner.
type audit struct {
	layouts   map[string]*auditLayout
	sequences map[string]*auditSequence
	tokens    map[uint64]*auditToken

	codeSecret []byte // the secret of codes; nil before the first codes
}

type auditLayout struct {
	layout  *snowflake.Layout
	workers []auditWorker
	cells   map[cell]owner                      // granted and not returned
	issued  map[cell]bool                       // an ID was issued in it
	said    map[uint64]*commandv1.HolderProcess // processes of the holders, by the token of the grant
}

type auditWorker struct {
	used       bool
	high, from int64
	token      uint64
	holder     string // name as shown
	owner      uint64 // the token that it was acquired with
	nonce      []byte
	released   bool
	process    *commandv1.HolderProcess
	extension  uint64 // ID of the last one under the token
	moved      int64  // the end that the last extension moved
}

type cell struct {
	worker uint64
	tick   int64
}

type owner struct {
	token uint64
	nonce string
}

func newAudit(specs []snowflake.Spec) audit {
	a := audit{layouts: map[string]*auditLayout{}, sequences: newAuditSequences(), tokens: map[uint64]*auditToken{}}
	for _, spec := range specs {
		l := snowflake.MustNew(spec)
		a.layouts[spec.Name] = &auditLayout{
			layout: l, workers: make([]auditWorker, l.Workers()),
			cells: map[cell]owner{}, issued: map[cell]bool{}, said: map[uint64]*commandv1.HolderProcess{},
		}
	}
	return a
}

// check compares the result of one command with the rules, given the configuration
// and the observed clock before it.
func (a *audit) check(index, term uint64, cmd *commandv1.Command, config *commandv1.Config, observed int64, r Result) error {
	if done, err := a.checkActor(cmd, observed, r); done {
		return err
	}
	if mine, err := a.checkTokens(index, cmd, r); mine {
		return err
	}
	switch body := cmd.GetBody().(type) {
	case *commandv1.Command_AcquireWorker:
		return a.layouts[body.AcquireWorker.GetLayout()].acquire(index, cmd.GetClockAtMs(), a.holder(cmd, config), body.AcquireWorker, config, observed, r)
	case *commandv1.Command_ExtendWindow:
		return a.layouts[body.ExtendWindow.GetLayout()].extend(cmd.GetClockAtMs(), body.ExtendWindow, config, r)
	case *commandv1.Command_ReleaseWorker:
		return a.layouts[body.ReleaseWorker.GetLayout()].release(body.ReleaseWorker, r)
	}
	if mine, err := a.checkSequences(index, term, cmd, config, observed, r); mine {
		return err
	}
	if r.Err != nil && cmd.GetCreateLayout() == nil && cmd.GetSetConfig() == nil {
		return violated("rules", "%v refused: %v", cmd, r.Err)
	}
	return nil
}

// checkSwap compares the configuration after a command, a SetConfig or nil for another, with the one before it.
func checkSwap(index uint64, c *commandv1.SetConfig, before, after *commandv1.Config, r Result) error {
	want := proto.CloneOf(before)
	if c != nil {
		var reason commandv1.Refusal
		if c.GetGeneration() != before.GetGeneration() {
			reason = commandv1.Refusal_REFUSAL_GENERATION_MISMATCH
		} else {
			want = proto.CloneOf(c.GetConfig())
			want.Generation = before.GetGeneration()
		}
		if got := reasonOf(r); got != reason {
			return violated("rules", "%v after generation %d returned %v, want %v", c, before.GetGeneration(), got, reason)
		}
		if reason == 0 && !proto.Equal(want, before) {
			want.Generation = index
		}
	}
	if !proto.Equal(after, want) {
		return violated("rules", "the configuration is %v, want %v", after, want)
	}
	return nil
}

// covering returns the end of a window until the millisecond end, in whole ticks of the layout.
func (l *auditLayout) covering(end int64) int64 {
	tick := l.layout.TickAt(end)
	if l.layout.MillisAt(tick) < end {
		tick++
	}
	return min(tick, int64(l.layout.Ticks()))
}

// holds reports whether a claim is made by the holder of its worker.
func (l *auditLayout) holds(c claim) bool {
	if c.GetWorker() >= uint64(len(l.workers)) {
		return false
	}
	k := &l.workers[c.GetWorker()]
	return k.used && !k.released && k.token == c.GetToken() && bytes.Equal(k.nonce, c.GetNonceHash())
}

// claim is the rule that an extension or a release has to meet.
func (l *auditLayout) claim(c claim) bool {
	return l.holds(c) && l.workers[c.GetWorker()].high == c.GetUntilTick()
}

func (l *auditLayout) extend(now int64, c *commandv1.ExtendWindow, config *commandv1.Config, r Result) error {
	reason := reasonOf(r)
	if l.holds(c) && l.workers[c.GetWorker()].extension == c.GetExtensionId() && l.workers[c.GetWorker()].moved == c.GetUntilTick() {
		k := &l.workers[c.GetWorker()]
		if want := (Grant{c.GetWorker(), k.token, k.from, k.high}); reason != 0 || r.Grant != want {
			return violated("rules", "a repeated extension returned %v, %+v, want %+v", reason, r.Grant, want)
		}
		return nil
	}
	if !l.claim(c) {
		if reason != commandv1.Refusal_REFUSAL_WINDOW_MISMATCH {
			return violated("owner", "an extension with an untrue claim returned %v, %+v: %v", reason, r.Grant, c)
		}
		return nil
	}
	k, ticks := &l.workers[c.GetWorker()], int64(l.layout.Ticks())
	end := l.covering(now + min(c.GetWindowMs(), config.GetMaxWindowMs()))
	switch {
	case end <= k.high && k.high == ticks:
		if reason != commandv1.Refusal_REFUSAL_TIME_EXHAUSTED {
			return violated("rules", "an extension at the end of time returned %v", reason)
		}
		return nil
	case reason != 0:
		return violated("rules", "an extension with a true claim returned %v: %v", reason, r.Err)
	}
	end = max(end, k.high)
	if want := (Grant{c.GetWorker(), k.token, k.from, end}); r.Grant != want {
		return violated("rules", "an extension returned %+v, want %+v", r.Grant, want)
	}
	if err := l.take(c.GetWorker(), k.high, end, owner{k.token, string(k.nonce)}); err != nil {
		return err
	}
	k.extension, k.moved, k.high = c.GetExtensionId(), k.high, end
	return nil
}

func (l *auditLayout) release(c *commandv1.ReleaseWorker, r Result) error {
	reason := reasonOf(r)
	if !l.claim(c) {
		if reason != commandv1.Refusal_REFUSAL_WINDOW_MISMATCH {
			return violated("owner", "a release with an untrue claim returned %v: %v", reason, c)
		}
		return nil
	}
	k := &l.workers[c.GetWorker()]
	if c.GetNextTick() < k.from || c.GetNextTick() > k.high {
		if reason != commandv1.Refusal_REFUSAL_INVALID_ARGUMENT {
			return violated("rules", "a release at %d of [%d, %d) returned %v", c.GetNextTick(), k.from, k.high, reason)
		}
		return nil
	}
	if reason != 0 {
		return violated("rules", "a release with a true claim returned %v: %v", reason, r.Err)
	}
	for tick := c.GetNextTick(); tick < k.high; tick++ {
		delete(l.cells, cell{c.GetWorker(), tick})
	}
	k.high, k.released = c.GetNextTick(), true
	return nil
}

// take marks cells as granted; each can be only once.
func (l *auditLayout) take(worker uint64, from, until int64, to owner) error {
	for tick := from; tick < until; tick++ {
		at := cell{worker, tick}
		if has, ok := l.cells[at]; ok || l.issued[at] {
			return violated("cell", "worker %d, tick %d: granted to token %d and again to %d", worker, tick, has.token, to.token)
		}
		l.cells[at] = to
	}
	return nil
}

// used notes the cell that an ID was issued in; it must be the holder's.
func (a *audit) used(l *lane) error {
	at := cell{l.grant.Worker, l.tick}
	if has := a.layouts[l.layout].cells[at]; has != (owner{l.grant.Token, string(l.nonce)}) {
		return violated("owner", "token %d issued in worker %d, tick %d, which belongs to token %d", l.grant.Token, at.worker, at.tick, has.token)
	}
	a.layouts[l.layout].issued[at] = true
	return nil
}

// compare compares the workers of a replica's layout with the audit's.
func (a *audit) compare(info LayoutInfo, records []WorkerRecord) error {
	l := a.layouts[info.Layout.Name()]
	used := 0
	for _, k := range l.workers {
		if k.used {
			used++
		}
	}
	if len(records) != used || info.Used != uint64(used) {
		return violated("high-water", "%d workers used, expected %d", len(records), used)
	}
	for _, rec := range records {
		k := l.workers[rec.Worker]
		if !proto.Equal(rec.Process.message(), k.process) {
			return violated("process", "%+v of worker %d, want %v", rec.Process, rec.Worker, k.process)
		}
		rec.Process = nil
		want := WorkerRecord{GrantRecord{
			Worker: rec.Worker, Token: k.token, Holder: k.holder, Owner: k.owner, NonceHash: [hashBytes]byte(k.nonce), From: k.from, Until: k.high,
		}, k.released}
		if rec != want {
			return violated("high-water", "%+v, expected %+v", rec, want)
		}
	}
	return nil
}

func (a *audit) checkWhoIs(s *State) error {
	for name, l := range a.layouts {
		for at, has := range l.cells {
			g, ok := s.WhoIs(name, at.worker, at.tick)
			if !ok || g.Token != has.token || string(g.NonceHash[:]) != has.nonce {
				return violated("whois", "worker %d, tick %d: %+v, %v, want token %d", at.worker, at.tick, g, ok, has.token)
			}
			if !proto.Equal(g.Process.message(), l.said[has.token]) {
				return violated("whois", "token %d has the process %+v, want %v", has.token, g.Process, l.said[has.token])
			}
		}
		for worker, k := range l.workers {
			if g, ok := s.WhoIs(name, uint64(worker), k.high); ok {
				return violated("whois", "worker %d, tick %d: %+v, but it was not granted", worker, k.high, g)
			}
		}
	}
	return nil
}

func reasonOf(r Result) commandv1.Refusal {
	if r.Err == nil {
		return 0
	}
	return r.Err.Reason
}

func newAuditSequences() map[string]*auditSequence {
	all := map[string]*auditSequence{}
	for _, name := range modelNames {
		all[name] = &auditSequence{granted: map[auditNumber]bool{}, late: map[auditNumber]bool{}}
	}
	return all
}
