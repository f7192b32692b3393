package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// reservation is a reserved number in the answer of a driver.
type reservation struct {
	Key         string `json:"key"`
	Number      string `json:"number"`
	Text        string `json:"text"`
	Reservation string `json:"reservation"`
	Attempt     int    `json:"attempt"`
	Confirmed   bool   `json:"confirmed"`
}

// reserves accounts for every number of a gapless sequence: the documents of an application whose answers are lost, and which
// crashes while a member is down.
func reserves(ctx context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	name := p.unique("gapless")
	if err := p.call("create", args{"client": "c", "sequence": name, "mode": "gapless", "format": "R-{seq:04}"}, nil); err != nil {
		return err
	}
	if err := settles(p, name); err != nil {
		return err
	}
	victim := p.open.members[0]
	victim.kill()
	crashed, err := p.reserve(name, "used", "gone", "busy")
	if err = errors.Join(err, p.open.start(victim)); err != nil {
		return fmt.Errorf("while a member is down: %w", err)
	}
	if err := p.open.ready(ctx); err != nil {
		return err
	}
	for i, r := range crashed {
		if r.Number != fmt.Sprint(4+i) || r.Confirmed {
			return fmt.Errorf("reserved %+v while a member was down, want numbers from 4 on", crashed)
		}
	}
	type counts struct {
		Confirmed, Void, Left, Overtaken int
	}
	for _, want := range []counts{{1, 1, 2, 0}, {0, 0, 2, 0}} {
		var got counts
		if err := p.call("reconcile", args{"client": "c", "sequence": name, "used": []string{"used"}, "void": []string{"gone"}}, &got); err != nil || got != want {
			return fmt.Errorf("reconciled %+v, %w, want %+v", got, err, want)
		}
	}
	after, err := p.reserve(name, "used", "gone", "busy")
	if err != nil {
		return err
	}
	if used, gone, busy := after[0], after[1], after[2]; !used.Confirmed || used.Number != "4" || gone.Number != "7" || gone.Attempt != 1 || busy.Number != "6" || busy.Attempt != 2 {
		return fmt.Errorf("after the reconcile loop: %+v", after)
	}
	return p.call("close", args{"client": "c"}, nil)
}

// settles confirms one document, whose first answer was lost, and voids another one.
func settles(p *player, name string) error {
	both, err := p.reserve(name, "a", "b")
	if err != nil {
		return err
	}
	a, b := both[0], both[1]
	if a.Text != "R-0001" || b.Text != "R-0002" || a.Attempt != 1 || a.Confirmed {
		return fmt.Errorf("reserved %+v", both)
	}
	repeated, err := p.reserve(name, "a")
	if err != nil {
		return err
	}
	again := repeated[0]
	if again.Number != a.Number || again.Reservation != a.Reservation || again.Attempt != 2 {
		return fmt.Errorf("reserved %+v again as %+v", a, again)
	}
	claimed := func(r reservation) args {
		return args{"client": "c", "sequence": name, "reason": "canceled", "claims": []args{{"key": r.Key, "reservation": r.Reservation, "attempt": r.Attempt}}}
	}
	if _, err := p.refused("confirm", claimed(a), "STALE_ATTEMPT"); err != nil {
		return err
	}
	for range 2 {
		if err := errors.Join(p.call("confirm", claimed(again), nil), p.call("void", claimed(b), nil)); err != nil {
			return err
		}
	}
	for op, r := range map[string]reservation{"void": again, "confirm": b} {
		if _, err := p.refused(op, claimed(r), "ALREADY_SETTLED"); err != nil {
			return err
		}
	}
	both, err = p.reserve(name, "a", "b")
	if err != nil {
		return err
	}
	if !both[0].Confirmed || both[0].Number != "1" || both[1].Confirmed || both[1].Number != "3" || both[1].Reservation == b.Reservation {
		return fmt.Errorf("after the confirmation and the void: %+v", both)
	}
	return nil
}

// reserve reserves a number for each key.
func (p *player) reserve(name string, keys ...string) ([]reservation, error) {
	var got struct {
		Reservations []reservation `json:"reservations"`
	}
	if err := p.call("reserve", args{"client": "c", "sequence": name, "keys": keys}, &got); err != nil {
		return nil, err
	}
	if !slices.EqualFunc(got.Reservations, keys, func(r reservation, key string) bool { return r.Key == key }) {
		return nil, fmt.Errorf("reserved %+v for %q", got.Reservations, keys)
	}
	return got.Reservations, nil
}
