package fsm

import (
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// acquireWorker grants a free worker: one whose high-water is not after now, or, if
// there is none, not after now plus the wait threshold. The window begins at the
// high-water or now, whichever is later, and covers the length requested from there,
// rounded up to whole ticks. No window ends later than [layout.endAfter] of now and the
// maximum window.
func (s *State) acquireWorker(e entry) Result {
	c := e.cmd.GetAcquireWorker()
	l, refused := s.layoutNamed(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	nonceHash, process, refused := checkAcquire(c)
	if refused != nil {
		return Result{Err: refused}
	}
	if refused := s.checkClock(e.now, l); refused != nil {
		return Result{Err: refused}
	}
	if last := l.history.lastToken(); e.index <= last {
		return halted(haltAt(e.index, adviseRejoin,
			fmt.Errorf("layout %q has a grant of index %d already, and indexes must grow", l.name, last)))
	}
	a, refused := s.wantOf(e, l)
	if refused != nil {
		return Result{Err: refused}
	}
	nowTick := l.layout.TickAt(e.now)
	if nowTick >= l.ticks {
		return Result{Err: l.full()}
	}
	longest := s.Config().GetMaxWindowMs()
	horizon := l.endAfter(e.now, longest)
	soon := min(l.layout.TickAt(plus(e.now, s.Config().GetWaitThresholdMs())), horizon-1) // below horizon, so that the window is not empty
	fence := s.fence(l)
	if refused := s.checkFence(e.now, fence, soon, l); refused != nil {
		return Result{Err: refused}
	}

	number, ok := l.workers.pick(a, nowTick)
	if !ok {
		number, ok = l.workers.pick(a, soon)
	}
	if !ok {
		return Result{Err: l.exhausted(e.now, a)}
	}
	from := max(l.workers.highWater(number), nowTick, fence)
	until := min(l.endAfter(max(e.now, l.layout.MillisAt(from)), min(c.GetWindowMs(), longest)), horizon)

	l.workers.grant(number, a.holding, process, nonceHash, e.index, from, until)
	l.history.add(GrantRecord{
		Worker: uint64(number), Token: e.index, Holder: a.holder, Owner: a.owner, Process: process, NonceHash: nonceHash,
		From: from, Until: until, GrantedMillis: e.now,
	})
	s.noteWindow(l, until)
	return Result{Grant: l.workers.granted(number)}
}

// extendWindow moves the end of the holder's window so that the window covers the
// requested length from now. The window must have the end that the holder believes. An
// end that would not be later stays. A window that has passed can be extended as long as
// no other holder acquired the worker. A repetition of the worker's last extension
// changes nothing and returns the present window, whatever time the repetition carries.
func (s *State) extendWindow(e entry) Result {
	c := e.cmd.GetExtendWindow()
	l, refused := s.layoutNamed(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	if c.GetWindowMs() <= 0 {
		return Result{Err: invalidWindow(c.GetWindowMs())}
	}
	if c.GetExtensionId() == 0 {
		return Result{Err: invalid("extension_id must not be 0; draw one at random for each extension")}
	}
	number, refused := l.held(c)
	if refused != nil {
		return Result{Err: refused}
	}
	k := l.workers.at(number)
	if k.extension == (extension{c.GetExtensionId(), c.GetUntilTick()}) {
		return Result{Grant: l.workers.granted(number)}
	}
	if c.GetUntilTick() != k.highWater {
		return Result{Err: l.otherEnd(c, k)}
	}
	end := l.endAfter(e.now, min(c.GetWindowMs(), s.Config().GetMaxWindowMs()))
	if end <= k.highWater && k.highWater == l.ticks {
		return Result{Err: l.full()}
	}
	l.workers.extend(number, c.GetExtensionId(), max(end, k.highWater))
	l.history.setUntil(k.token, k.highWater)
	s.noteWindow(l, k.highWater)
	return Result{Grant: l.workers.granted(number)}
}

// releaseWorker releases a worker and lowers its high-water to next, the first
// tick in which the holder issued nothing and never will.
func (s *State) releaseWorker(e entry) Result {
	c := e.cmd.GetReleaseWorker()
	l, refused := s.layoutNamed(c.GetLayout())
	if refused != nil {
		return Result{Err: refused}
	}
	number, refused := l.held(c)
	if refused != nil {
		return Result{Err: refused}
	}
	next, k := c.GetNextTick(), l.workers.at(number)
	if c.GetUntilTick() != k.highWater {
		return Result{Err: l.otherEnd(c, k)}
	}
	if next < k.from || next > k.highWater {
		return Result{Err: invalid("release at tick %d: expected a tick of the window, from %d to %d", next, k.from, k.highWater)}
	}
	l.workers.release(number, next)
	l.history.setUntil(k.token, next)
	return Result{}
}

// claim is the window that a holder presents in ExtendWindow and ReleaseWorker.
type claim interface {
	GetWorker() uint64
	GetToken() uint64
	GetNonceHash() []byte
	GetUntilTick() int64
}

// held returns the worker of a claim if its holder makes the claim: the token is the
// worker's current one and was not released, and the nonce is the holder's. Extension and
// release also require that the window ends where the holder believes, a compare-and-swap.
// Neither check can replace the other, because a release lowers an end that an earlier
// holder may still believe in.
func (l *layout) held(c claim) (number int, refused *Refused) {
	if c.GetWorker() >= uint64(l.workers.count()) {
		return 0, l.mismatch(c, "was never granted")
	}
	number = int(c.GetWorker())
	k := l.workers.see(number)
	nonceHash, ok := hashOf(c.GetNonceHash())
	switch {
	case c.GetToken() != k.token:
		return 0, l.mismatch(c, "was granted under fencing token %d, not %d", k.token, c.GetToken())
	case !ok || nonceHash != k.nonceHash:
		return 0, l.mismatch(c, "was granted to another start of its holder")
	case k.released:
		return 0, l.mismatch(c, "was released")
	}
	return number, nil
}

// otherEnd refuses a claim whose window has another end.
func (l *layout) otherEnd(c claim, k *worker) *Refused {
	return l.mismatch(c, "has a window until tick %d, not %d", k.highWater, c.GetUntilTick())
}

func (l *layout) mismatch(c claim, format string, args ...any) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_WINDOW_MISMATCH, "worker %d of layout %q "+format+"; acquire another worker",
		append([]any{c.GetWorker(), l.name}, args...)...)
}

// maxBelow bounds [commandv1.AcquireWorker.Below], and so the work of pick.
const maxBelow = 1 << 16

func checkAcquire(c *commandv1.AcquireWorker) (nonceHash [hashBytes]byte, process *Process, refused *Refused) {
	if err := checkHolder(c.GetHolder()); err != nil {
		return nonceHash, nil, invalid("%v", err)
	}
	nonceHash, ok := hashOf(c.GetNonceHash())
	if !ok {
		return nonceHash, nil, invalid("nonce hash of %d bytes: expected %d bytes", len(c.GetNonceHash()), hashBytes)
	}
	if c.GetWindowMs() <= 0 {
		return nonceHash, nil, invalidWindow(c.GetWindowMs())
	}
	if c.GetBelow() > maxBelow {
		return nonceHash, nil, invalid("below %d: expected 1 to %d, or 0 for any worker", c.GetBelow(), maxBelow)
	}
	process, err := processOf(c.GetProcess())
	if err != nil {
		return nonceHash, nil, invalid("%v", err)
	}
	return nonceHash, process, nil
}

func invalidWindow(millis int64) *Refused {
	return invalid("window of %d ms: expected at least 1 ms", millis)
}

// full refuses because the time field has no tick left.
func (l *layout) full() *Refused {
	return refuse(commandv1.Refusal_REFUSAL_TIME_EXHAUSTED,
		"layout %q: all %d ticks are used; use another layout", l.name, l.ticks)
}

// exhausted refuses because no wanted worker is free or, for an owner that has its part, none of the owner's workers.
func (l *layout) exhausted(now int64, a want) *Refused {
	soonest := l.workers.soonest(a)
	if soonest >= l.ticks {
		return l.full()
	}
	free := l.layout.MillisAt(soonest)
	held := fmt.Sprintf("all %d workers%s are held", a.end, l.others(a.end))
	if l.workers.full(a) {
		held = fmt.Sprintf("API token %d holds %d workers, which is the limit for one API token", a.owner, a.part)
	}
	return refuse(commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED, "layout %q: %s; try again in %d ms, when the first may be free",
		l.name, held, minus(free, now)).retryAt(free)
}

// others returns a text that names the workers from the number end on; empty if there are none.
func (l *layout) others(end uint64) string {
	switch end {
	case l.workers.size:
		return ""
	case l.workers.common:
		return fmt.Sprintf(" for applications (%d more are for members)", l.workers.size-end)
	}
	return fmt.Sprintf(" below %d", end)
}
