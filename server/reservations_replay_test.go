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
	holders  map[int64]holder                 // which reservation got a number last
	numbers  map[holder]int64                 // number of each reservation
	fates    map[holder]snowraftv1.NumberFate // fate of the number of each reservation, by the last answer
	reusable map[holder]bool                  // reservations whose number no transaction can commit
	settles  map[snowraftv1.NumberFate]int    // number of claims that gave an open number each fate
	answers  []*snowraftv1.Claim
	requests []proto.Message // all that were sent
}

// holder names a reservation. The keys of one request share its index.
type holder struct {
	index uint64
	key   string
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
	n, h := r.GetNumber(), holder{index: r.GetReservation(), key: r.GetKey()}
	last := d.holders[n]
	fate := d.fates[last]
	switch {
	case r.GetFate() == snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED:
		if fate != r.GetFate() || last != h {
			d.t.Errorf("%v is confirmed, after %v of %v", r, fate, last)
		}
		return
	case last == h:
		if fate != snowraftv1.NumberFate_NUMBER_FATE_OPEN {
			d.t.Errorf("%v is open again, after %v", r, fate)
		}
	case last != (holder{}) && !(fate == snowraftv1.NumberFate_NUMBER_FATE_VOID && d.reusable[last]):
		d.t.Errorf("%v draws a number that %v has: %v", r, last, fate)
	}
	if other, ok := d.numbers[h]; ok && other != n {
		d.t.Errorf("%v had number %d before", r, other)
	}
	d.holders[n], d.numbers[h], d.fates[h] = h, n, snowraftv1.NumberFate_NUMBER_FATE_OPEN
	d.answers = append(d.answers, claimOf(r)[0])
}

// settled notes the outcome of a claim. A confirmed number never becomes void, nor the other way round. A claim that is repeated
// succeeds again, also after its void number went to another reservation, which keeps it.
func (d *documents) settled(c *snowraftv1.Claim, err error, want snowraftv1.NumberFate, reusable bool) {
	if err != nil {
		return // refused: the claim is of an earlier attempt, or the number has another fate
	}
	h := holder{index: c.GetReservation(), key: c.GetKey()}
	n := d.numbers[h]
	switch fate := d.fates[h]; {
	case fate == want:
	case fate != snowraftv1.NumberFate_NUMBER_FATE_OPEN:
		d.t.Errorf("%v makes number %d %v, which is %v", c, n, want, fate)
	case d.holders[n] != h:
		d.t.Errorf("%v makes number %d of %v %v", c, n, d.holders[n], want)
	default:
		d.fates[h], d.reusable[h] = want, reusable
		d.settles[want]++
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
			t: t, holders: map[int64]holder{}, numbers: map[holder]int64{}, fates: map[holder]snowraftv1.NumberFate{}, reusable: map[holder]bool{},
			settles: map[snowraftv1.NumberFate]int{},
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
		for _, h := range d.holders {
			counts[d.fates[h]]++
		}
		resp, err := nodes[1].reservations().AuditPeriod(t.Context(), &snowraftv1.AuditPeriodRequest{Sequence: "inv"})
		s := resp.GetSummary()
		if err != nil || s.GetLast() != int64(len(d.holders)) || s.GetConfirmed() != counts[snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED] ||
			s.GetVoid() != counts[snowraftv1.NumberFate_NUMBER_FATE_VOID] || s.GetOpen() != counts[snowraftv1.NumberFate_NUMBER_FATE_OPEN] {
			t.Errorf("account %v, %v, want %v", s, err, counts)
		}
		if d.settles[snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED] == 0 || d.settles[snowraftv1.NumberFate_NUMBER_FATE_VOID] == 0 {
			t.Errorf("settled claims by fate: %v", d.settles)
		}
	})
}
