package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// auditHolder is the holder that acquires a worker.
type auditHolder struct {
	shown string // full name, which begins with its token's
	owner uint64
	end   int // workers below it are wanted, and not for members only
	part  int // greatest number of workers of its token
}

// holder returns the holder of an acquisition.
func (a *audit) holder(cmd *commandv1.Command, config *commandv1.Config) auditHolder {
	c := cmd.GetAcquireWorker()
	l := a.layouts[c.GetLayout()]
	h, common := auditHolder{shown: c.GetHolder(), end: len(l.workers)}, len(l.workers)
	if !l.layout.Spec().LeaseOnly {
		common -= min(16, common/4)
	}
	if t := a.tokens[cmd.GetActor().GetToken()]; t != nil {
		percent := 50
		if p := config.GetTokenWorkersPercent(); p > 0 {
			percent = int(p)
		}
		h = auditHolder{t.name + "/" + h.shown, cmd.GetActor().GetToken(), common, (common*percent + 99) / 100}
	}
	if below := int(c.GetBelow()); below > 0 {
		h.end = min(h.end, below)
	}
	return h
}

func (l *auditLayout) acquire(index uint64, now int64, by auditHolder, c *commandv1.AcquireWorker, config *commandv1.Config, observed int64, r Result) error {
	worker, from, until, reason, retry := l.expect(now, by, c, config, observed)
	if got := reasonOf(r); got != reason {
		return violated("rules", "acquire at %d returned %v (%v), want %v", now, got, r.Err, reason)
	}
	if reason != 0 {
		if r.Err.RetryAtMillis != retry {
			return violated("rules", "%v: retry at %d, want %d", reason, r.Err.RetryAtMillis, retry)
		}
		return nil
	}
	g := r.Grant
	if g.Worker >= uint64(len(l.workers)) || g.From < 0 || g.From >= g.Until || uint64(g.Until) > l.layout.Ticks() {
		return violated("range", "%+v", g)
	}
	if err := l.take(g.Worker, g.From, g.Until, owner{g.Token, string(c.GetNonceHash())}); err != nil {
		return err
	}
	if want := (Grant{worker, index, from, until}); g != want {
		return violated("rules", "acquire by %s at tick %d returned %+v, want %+v", c.GetHolder(), l.layout.TickAt(now), g, want)
	}
	l.workers[worker] = auditWorker{
		used: true, high: until, from: from, token: index, holder: by.shown, owner: by.owner, nonce: c.GetNonceHash(), process: c.GetProcess(),
	}
	l.said[index] = c.GetProcess()
	return nil
}

// expect is the rule of AcquireWorker.
func (l *auditLayout) expect(now int64, by auditHolder, c *commandv1.AcquireWorker, config *commandv1.Config, observed int64) (worker uint64, from, until int64, reason commandv1.Refusal, retry int64) {
	tick, ticks := l.layout.TickAt(now), int64(l.layout.Ticks())
	behind := observed-now > config.GetWaitThresholdMs() && config.GetRollback() == commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE
	switch {
	case behind:
		return 0, 0, 0, commandv1.Refusal_REFUSAL_CLOCK_BEHIND, observed - config.GetWaitThresholdMs()
	case tick < 0:
		return 0, 0, 0, commandv1.Refusal_REFUSAL_CLOCK_BEHIND, modelEpoch
	case tick >= ticks:
		return 0, 0, 0, commandv1.Refusal_REFUSAL_TIME_EXHAUSTED, 0
	}
	horizon := l.covering(now + config.GetMaxWindowMs())
	best, ok := l.best(by, tick)
	if !ok {
		best, ok = l.best(by, min(l.layout.TickAt(now+config.GetWaitThresholdMs()), horizon-1))
	}
	if !ok {
		soonest := l.soonest(by)
		if soonest == ticks {
			return 0, 0, 0, commandv1.Refusal_REFUSAL_TIME_EXHAUSTED, 0
		}
		return 0, 0, 0, commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED, l.layout.MillisAt(soonest)
	}
	from = max(tick, l.workers[best].high)
	until = min(l.covering(max(now, l.layout.MillisAt(from))+min(c.GetWindowMs(), config.GetMaxWindowMs())), horizon)
	return uint64(best), from, until, 0, 0
}

// soonest returns the first tick at which a holder may get a worker, or, if its share has none that it wants, at which the
// share can become smaller.
func (l *auditLayout) soonest(by auditHolder) int64 {
	ticks := int64(l.layout.Ticks())
	soonest, wanted := ticks, false
	for _, k := range l.workers[:by.end] {
		if l.may(by, k) {
			soonest, wanted = min(soonest, k.high), true
		}
	}
	if wanted {
		return soonest
	}
	for _, k := range l.workers {
		if k.used && k.owner == by.owner {
			soonest = min(soonest, k.high)
		}
	}
	return soonest
}

// may reports whether a holder may get a worker if the worker is free: a token with its whole share gets no others.
func (l *auditLayout) may(by auditHolder, k auditWorker) bool {
	own := 0
	for _, o := range l.workers {
		if o.used && o.owner == by.owner {
			own++
		}
	}
	return by.owner == 0 || k.used && k.owner == by.owner || own < by.part
}

// best returns the worker to grant to a holder.
func (l *auditLayout) best(by auditHolder, limit int64) (best int, ok bool) {
	last, first := -1, -1 // the holder's last worker, and its first worker that is free
	for i, k := range l.workers {
		if !k.used || k.holder != by.shown || k.owner != by.owner {
			continue
		}
		if last < 0 || k.token > l.workers[last].token {
			last = i
		}
		if i < by.end && k.high <= limit && (first < 0 || k.token < l.workers[first].token) {
			first = i
		}
	}
	if last >= 0 && last < by.end && l.workers[last].high <= limit {
		return last, true
	}
	if first >= 0 { // the model has too few workers for the bound of looks to matter
		return first, true
	}
	best = -1
	for i, k := range l.workers[:by.end] {
		switch {
		case !l.may(by, k):
		case !k.used:
			return i, true
		case k.high <= limit && (best < 0 || k.high < l.workers[best].high):
			best = i
		}
	}
	// A worker that was never used comes before a used one of any number.
	return best, best >= 0
}
