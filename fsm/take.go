package fsm

// takeNumbers records numbers that were drawn elsewhere. None of them is drawn later. Repeating it changes nothing.
func (s *State) takeNumbers(e entry) Result {
	c := e.cmd.GetTakeNumbers()
	old, refused := s.gapless(c.GetName())
	if refused != nil {
		return Result{Err: refused}
	}
	until, refused := checkRange(c.GetFirst(), c.GetCount())
	if refused == nil {
		refused = checkReason(c.GetReason(), false)
	}
	if refused == nil {
		refused = old.current(c.GetGeneration(), c.GetPeriod())
	}
	if refused != nil {
		return Result{Err: refused}
	}
	if err := old.grows(e.index); err != nil {
		return halted(err)
	}
	p := s.edit(old, e)
	p.startPeriod(c.GetPeriod())
	period := p.periodOf(c.GetPeriod())
	a := p.account(period)
	if c.GetFirst() < a.first || until > p.q.spec.endOfNumbers() {
		return Result{Err: invalid("numbers %d to %d: expected numbers from %d, the first one of the period, to %d",
			c.GetFirst(), until-1, a.first, p.q.spec.endOfNumbers()-1)}
	}
	if a.taken(c.GetFirst(), until) {
		return Result{}
	}
	if n, f, drawn := a.firstDrawn(c.GetFirst(), until); drawn {
		return Result{Err: alreadySettled(p.q.name, n, f.kind)}
	}
	p.l.set(a, c.GetFirst(), until, fate{kind: fateTaken, reason: c.GetReason(), stamp: p.stamp})
	p.note(period, c.GetFirst())
	p.note(period, until-1)
	if refused := p.room(); refused != nil {
		return Result{Err: refused}
	}
	p.commit()
	return Result{}
}

// taken reports whether all numbers of [from, until) are taken.
func (a *account) taken(from, until int64) bool {
	for from < until {
		_, r, ok := a.at(from)
		if !ok || r.kind != fateTaken {
			return false
		}
		from = r.until
	}
	return true
}

// firstDrawn returns the first number of [from, until) that was drawn, with its fate.
func (a *account) firstDrawn(from, until int64) (n int64, f fate, drawn bool) {
	if f, drawn := a.fate(from); drawn {
		return from, f, true
	}
	a.runs.Ascend(from, func(first int64, r *run) bool {
		n, f, drawn = first, r.fate, first < until
		return false
	})
	return n, f, drawn
}
