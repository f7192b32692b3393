package fsm

import (
	"cmp"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// worker is one worker that was granted at least once, and its last window.
type worker struct {
	highWater int64 // the tick before which everything was granted; the window's end
	from      int64 // the tick at which the acquisition of token began
	token     uint64
	nonceHash [hashBytes]byte
	holder    string // name as shown: with the token's name in front for an application
	owner     uint64 // ID of the API token that acquired the worker; 0 without one
	process   *Process
	released  bool // released by the holder, so that the token is void
	extension extension

	place        [heaps]int // places in the heaps
	newer, older int        // neighbors in the list of the holder, see workers.held; none at the ends
}

// extension is the last extension of a worker under its token, so that a repetition is
// recognized; zero if there was none.
type extension struct {
	id   uint64
	from int64 // end of the window before the extension
}

// none stands for no worker.
const none = -1

// workers are the workers of one layout.
//
// It keeps the invariant that uniqueness rests on: every tick that was granted on a
// worker lies below its high-water, and a new window begins at or above it. So the
// windows of one worker are disjoint. The high-water only grows, except that the holder of
// the current token may return the rest of its own window, in which it issued
// nothing. Every change of a high-water is made by grant, extend or release below.
//
// Workers that were never granted need no memory: they are taken in ascending order,
// so they are the ones from count on, and their high-water is 0.
type workers struct {
	size   uint64 // the layout has the workers [0, size)
	common uint64 // the workers [common, size) are for members only
	roll          // the used workers

	// byAge holds two heaps of the used workers: the common ones, and those for members only.
	byAge [2]ages

	// ofToken holds, for each API token, a heap of the workers whose last holder acquired them with that token, at most
	// [want.part] of them at the time of the last grant.
	ofToken map[uint64]ages

	// held holds, for each holder, the list of the workers whose last holder it is, linked
	// by worker.older in descending order of their tokens. Without the order, a restored
	// replica would not know which worker is next after another holder got the newest.
	held map[holding]span
}

// holding identifies the holder of a worker. Applications with different tokens do not share workers, whatever names
// they give themselves, and no application shares the workers of a member.
type holding struct {
	owner  uint64
	holder string
}

func (k *worker) holding() holding { return holding{k.owner, k.holder} }

// membersOnly is the greatest number of workers of a layout that are for members only. It is enough for the voters of a
// cluster, so that members keep issuing when applications take all other workers.
const membersOnly = 16

// newWorkers returns the workers of a layout. Members issue no IDs of a layout that only leases, so it has no workers for
// members only.
func newWorkers(size uint64, leaseOnly bool) workers {
	w := workers{size: size, common: size, ofToken: map[uint64]ages{}, held: map[holding]span{}}
	if !leaseOnly {
		w.common -= min(membersOnly, size/4)
	}
	return w
}

// want is a request for a worker.
type want struct {
	holding
	end  uint64 // numbers below it are wanted, at most size
	part int    // greatest number of workers of one API token
}

// part returns the greatest number of workers of one API token: by default half of the common ones, so that an application
// that takes all it can leaves some for others.
func (w *workers) part(c *commandv1.Config) int {
	percent := cmp.Or(uint64(c.GetTokenWorkersPercent()), limits.DefaultTokenWorkers)
	return int(w.common/100*percent + (w.common%100*percent+99)/100)
}

// full reports whether the owner had as many workers last as one token gets, and so gets no others.
func (w *workers) full(a want) bool { return a.owner != 0 && len(w.ofToken[a.owner]) >= a.part }

// span is the ends of a list of workers: those with the newest and the oldest token.
type span struct{ newest, oldest int }

// ownLooks is the number of a holder's workers, from the oldest on, among which pick searches a
// free one. The oldest is usually free, because windows have similar lengths. Other processes of
// the same name may hold some, and some may have a long window from before the holder crashed.
const ownLooks = 16

// pick chooses the worker to grant, among those that are wanted and whose high-water is at most limit. It takes, in this
// order:
//   - the worker that this holder had last;
//   - another of its own, so that a process that crashes in a loop does not use up the layout;
//   - the lowest number that was never used;
//   - the worker with the lowest high-water.
//
// A holder whose token has used its share gets only workers of that token. pick takes O(log n), or O(maxBelow) if only
// workers below a number are wanted.
func (w *workers) pick(a want, limit int64) (number int, ok bool) {
	free := func(n int) bool { return uint64(n) < a.end && w.see(n).highWater <= limit }
	if own, had := w.held[a.holding]; had {
		if free(own.newest) {
			return own.newest, true
		}
		for n, looks := own.oldest, 0; n != none && looks < ownLooks; n, looks = w.at(n).newer, looks+1 {
			if free(n) {
				return n, true
			}
		}
	}
	if !w.full(a) && uint64(w.count()) < a.end {
		return w.count(), true
	}
	n := w.next(a)
	return n, n != none && free(n)
}

// next returns the worker with the lowest high-water that pick can choose when it can choose none that was never used; none
// if no wanted worker is in the owner's share.
func (w *workers) next(a want) int {
	full := w.full(a)
	switch {
	case a.end != w.common && a.end != w.size:
		best := none
		for n := range int(min(a.end, uint64(w.count()))) {
			if (!full || w.see(n).owner == a.owner) && (best == none || w.older(n, best)) {
				best = n
			}
		}
		return best
	case full:
		return w.ofToken[a.owner][0]
	}
	n := w.byAge[0][0]
	if a.end > w.common && len(w.byAge[1]) > 0 && w.older(w.byAge[1][0], n) {
		n = w.byAge[1][0]
	}
	return n
}

// highWater returns a worker's high-water, 0 for one that was never used.
func (w *workers) highWater(number int) int64 {
	if number == w.count() {
		return 0
	}
	return w.see(number).highWater
}

// soonest returns the lowest high-water of the workers that pick can choose: the tick from which on a worker is free. If the
// owner's share has no wanted worker, it returns that of the share: from then on, other holders may reduce the share.
func (w *workers) soonest(a want) int64 {
	if !w.full(a) && uint64(w.count()) < a.end {
		return 0
	}
	n := w.next(a)
	if n == none {
		n = w.ofToken[a.owner][0]
	}
	return w.see(n).highWater
}

// grant grants a worker that pick returned to a holder. from must not be below the
// worker's high-water, until must be above from, and token above every earlier token.
func (w *workers) grant(number int, by holding, process *Process, nonceHash [hashBytes]byte, token uint64, from, until int64) {
	if number == w.count() {
		w.append(worker{newer: none, older: none})
		w.push(inLayout, w.agesOf(number), number)
	} else {
		w.forget(number)
		w.disown(number)
	}
	k := w.at(number)
	k.owner, k.holder, k.process = by.owner, by.holder, process
	k.nonceHash, k.token, k.from, k.released, k.extension = nonceHash, token, from, false, extension{}
	w.remember(number)
	w.own(number)
	w.setHighWater(number, until)
}

// extend moves the end of the current window. until must not be below the high-water.
func (w *workers) extend(number int, id uint64, until int64) {
	k := w.at(number)
	k.extension = extension{id: id, from: k.highWater}
	w.setHighWater(number, until)
}

// release lowers the high-water to next, which must be within the current window,
// above every tick that its holder may have used or will use.
func (w *workers) release(number int, next int64) {
	w.at(number).released, w.at(number).extension = true, extension{}
	w.setHighWater(number, next)
}

func (w *workers) setHighWater(number int, tick int64) {
	w.at(number).highWater = tick
	w.fixAge(number)
}

// remember puts a worker, whose token is the newest, at the head of its holder's list.
func (w *workers) remember(number int) {
	k := w.at(number)
	k.newer, k.older = none, none
	own, had := w.held[k.holding()]
	if had {
		k.older = own.newest
		w.at(own.newest).newer = number
	} else {
		own.oldest = number
	}
	own.newest = number
	w.held[k.holding()] = own
}

// forget removes a worker from its holder's list.
func (w *workers) forget(number int) {
	k := w.at(number)
	own := w.held[k.holding()]
	if k.older != none {
		w.at(k.older).newer = k.newer
	} else {
		own.oldest = k.newer
	}
	if k.newer != none {
		w.at(k.newer).older = k.older
	} else {
		own.newest = k.older
	}
	if own.newest == none {
		delete(w.held, k.holding())
	} else {
		w.held[k.holding()] = own
	}
}
