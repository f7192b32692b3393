package main

import (
	"context"
	"slices"
	"strconv"

	"github.com/snowraft/snowraft/client"
)

// claim is a claim of the contract.
type claim struct {
	Key         string `json:"key"`
	Reservation uint64 `json:"reservation,string"`
	Attempt     uint32 `json:"attempt"`
}

// reservation is a reserved number of the contract.
type reservation struct {
	claim
	Number    string `json:"number"`
	Text      string `json:"text"`
	Confirmed bool   `json:"confirmed"`
}

// document performs an operation about the numbers of a gapless sequence.
func (d *driver) document(ctx context.Context, op string, a params) (any, error) {
	c, err := find(d, d.clients, a.Client)
	if err != nil {
		return nil, err
	}
	s := c.Sequence(a.Sequence)
	claims := make([]client.Claim, len(a.Claims))
	for i, each := range a.Claims {
		claims[i] = client.Claim(each)
	}
	switch op {
	case "confirm":
		return struct{}{}, s.Confirm(ctx, claims...)
	case "void":
		return struct{}{}, s.Void(ctx, a.Reason, claims...)
	case "reconcile":
		done, err := s.Reconcile(ctx, 0, func(_ context.Context, r client.Reservation) (client.Resolution, error) {
			switch {
			case slices.Contains(a.Used, r.Key):
				return client.Resolution{Fate: client.FateConfirmed}, nil
			case slices.Contains(a.Void, r.Key):
				return client.Resolution{Fate: client.FateVoid, Reason: "not in the database"}, nil
			}
			return client.Resolution{}, nil
		})
		return map[string]int{"confirmed": done.Confirmed, "void": done.Void, "left": done.Left, "overtaken": done.Overtaken}, err
	}
	got, err := s.Reserve(ctx, a.Keys...)
	all := make([]reservation, len(got))
	for i, r := range got {
		all[i] = reservation{claim(r.Claim), strconv.FormatInt(r.Number, 10), r.Text, r.Fate == client.FateConfirmed}
	}
	return map[string]any{"reservations": all}, err
}
