package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/test/seed"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// documents holds the knowledge of applications about a gapless sequence with reuse, from its answers.
type documents struct {
	t        *testing.T
	holders  map[int64]uint64                // reservation that got a number last
	fates    map[int64]snowraftv1.NumberFate // fate of each number, by the last answer
	reusable map[int64]bool
	claims   map[string]int64 // number of each claim of an answer
	answers  []*snowraftv1.Claim
	requests []proto.Message // all that were sent
}

func claimText(c *snowraftv1.Claim) string {
	return fmt.Sprint(c.GetKey(), " ", c.GetReservation(), " ", c.GetAttempt())
}

// send sends one recorded request, and checks the answer.
func (d *documents) send(ctx context.Context, to *node, request proto.Message) {
	switch req := request.(type) {
	case *snowraftv1.ReserveNumbersRequest:
		resp, err := to.reservations().ReserveNumbers(ctx, req)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, r := range resp.GetReservations() {
			d.reserved(r)
		}
	case *snowraftv1.ConfirmNumbersRequest:
		_, err := to.reservations().ConfirmNumbers(ctx, req)
		d.settled(req.GetClaims()[0], err, snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED, false)
	case *snowraftv1.VoidNumbersRequest:
		_, err := to.reservations().VoidNumbers(ctx, req)
		d.settled(req.GetClaims()[0], err, snowraftv1.NumberFate_NUMBER_FATE_VOID, req.GetNeverCommitted())
	}
}

// reserved notes an answer. A number that is open or confirmed belongs to one reservation, and a void one is drawn again only if no
// transaction can commit it.
func (d *documents) reserved(r *snowraftv1.Reservation) {
	n, fate := r.GetNumber(), d.fates[r.GetNumber()]
	switch {
	case r.GetFate() == snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED:
		if fate != r.GetFate() || d.holders[n] != r.GetReservation() {
			d.t.Errorf("%v is confirmed, after %v of reservation %d", r, fate, d.holders[n])
		}
		return
	case d.holders[n] == r.GetReservation():
		if fate != snowraftv1.NumberFate_NUMBER_FATE_OPEN {
			d.t.Errorf("%v is open again, after %v", r, fate)
		}
	case d.holders[n] != 0 && !(fate == snowraftv1.NumberFate_NUMBER_FATE_VOID && d.reusable[n]):
		d.t.Errorf("%v draws a number that reservation %d has: %v", r, d.holders[n], fate)
	}
	d.holders[n], d.fates[n] = r.GetReservation(), snowraftv1.NumberFate_NUMBER_FATE_OPEN
	claim := claimOf(r)[0]
	d.claims[claimText(claim)] = n
	d.answers = append(d.answers, claim)
}

// settled notes the outcome of a claim. A confirmed number never becomes void, nor the other way round.
func (d *documents) settled(c *snowraftv1.Claim, err error, want snowraftv1.NumberFate, reusable bool) {
	if err != nil {
		return // refused: the claim is of an earlier attempt, or the number has another fate
	}
	n := d.claims[claimText(c)]
	switch {
	case d.holders[n] != c.GetReservation():
		d.t.Errorf("%v settles number %d of reservation %d", c, n, d.holders[n])
	case d.fates[n] == snowraftv1.NumberFate_NUMBER_FATE_OPEN:
		d.fates[n], d.reusable[n] = want, reusable
	case d.fates[n] != want:
		d.t.Errorf("%v makes number %d %v, which is %v", c, n, want, d.fates[n])
	}
}

// Applications reserve, confirm and void numbers at all members. All requests are recorded, and come again in any order, twice.
// No number becomes that of two documents, none changes a fate, and the account explains each.
func TestRequestsReplayed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].untilNewest()
		inv := gapless("inv")
		inv.Reuse = true
		nodes[0].createSequence(inv)
		nodes[0].untilApplied(nodes)
		random := rand.New(rand.NewPCG(seed.Of(t), 1))
		d := &documents{
			t: t, holders: map[int64]uint64{}, fates: map[int64]snowraftv1.NumberFate{}, reusable: map[int64]bool{}, claims: map[string]int64{},
		}
		for range 90 {
			var request proto.Message
			kind := random.IntN(5)
			if kind <= 1 || len(d.answers) == 0 {
				keys := []string{fmt.Sprint("order-", random.IntN(6)), "batch"}
				request = &snowraftv1.ReserveNumbersRequest{Sequence: "inv", Keys: keys[:1+random.IntN(2)]}
			} else {
				recent := min(len(d.answers), 5)
				claims := []*snowraftv1.Claim{d.answers[len(d.answers)-1-random.IntN(recent)]}
				request = &snowraftv1.VoidNumbersRequest{Sequence: "inv", Claims: claims, Reason: "canceled", NeverCommitted: kind == 3}
				if kind == 4 {
					request = &snowraftv1.ConfirmNumbersRequest{Sequence: "inv", Claims: claims}
				}
			}
			d.requests = append(d.requests, request)
			d.send(t.Context(), nodes[random.IntN(len(nodes))], request)
		}
		again := append(d.requests, d.requests...)
		random.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		for _, request := range again {
			d.send(t.Context(), nodes[random.IntN(len(nodes))], request)
		}
		counts := map[snowraftv1.NumberFate]uint64{}
		for _, fate := range d.fates {
			counts[fate]++
		}
		resp, err := nodes[1].reservations().AuditPeriod(t.Context(), &snowraftv1.AuditPeriodRequest{Sequence: "inv"})
		s := resp.GetSummary()
		if err != nil || s.GetLast() != int64(len(d.fates)) || s.GetConfirmed() != counts[snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED] ||
			s.GetVoid() != counts[snowraftv1.NumberFate_NUMBER_FATE_VOID] || s.GetOpen() != counts[snowraftv1.NumberFate_NUMBER_FATE_OPEN] {
			t.Errorf("account %v, %v, want %v", s, err, counts)
		}
		if counts[snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED] == 0 || counts[snowraftv1.NumberFate_NUMBER_FATE_VOID] == 0 {
			t.Errorf("numbers by fate: %v", counts)
		}
	})
}
