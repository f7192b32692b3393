package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// withWorkers is a layout with 2^bits workers.
func withWorkers(bits uint8) snowflake.Spec {
	spec := tiny
	spec.Fields = []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: bits}, {Field: snowflake.FieldSequence, Bits: 4},
	}
	return spec
}

// asKind makes a command one of a caller without a token.
func asKind(kind commandv1.ActorKind, cmd *commandv1.Command) *commandv1.Command {
	cmd.Actor = &commandv1.Actor{Kind: kind}
	return cmd
}

// TestApplicationsLeaveWorkersForMembers: an application with a token or the secret that acquires all workers that it
// gets leaves some that only members get.
func TestApplicationsLeaveWorkersForMembers(t *testing.T) {
	for bits, left := range map[uint8]int{1: 0, 2: 1, 3: 2, 6: 16, 8: 16} {
		t.Run(fmt.Sprint(1<<bits, " workers"), func(t *testing.T) {
			l := newLog(t, withWorkers(bits))
			id, other := l.token("app", "worker:lease:*"), l.token("other", "worker:lease:*")
			size := 1 << bits
			var last Grant
			for i := range size - left {
				cmd := by(id, l.index, acquire(fmt.Sprint("h", i), 10_000))
				if i%2 == 1 {
					cmd = asKind(commandv1.ActorKind_ACTOR_KIND_ADMIN, cmd)
				}
				if last = l.must(at(epoch, cmd)).Grant; last.Worker != uint64(i) {
					t.Fatalf("acquisition %d got worker %d", i, last.Worker)
				}
			}
			for _, cmd := range []*commandv1.Command{by(other, l.index, acquire("more", 10_000)), asKind(commandv1.ActorKind_ACTOR_KIND_ADMIN, acquire("more", 10_000))} {
				refused := l.refused(commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED, at(epoch, cmd))
				if refused.RetryAtMillis != epoch+10_000 || strings.Contains(refused.Detail, "for members") != (left > 0) {
					t.Errorf("%+v", refused)
				}
			}
			members := []*commandv1.Command{acquire("m", 3000), asKind(commandv1.ActorKind_ACTOR_KIND_MEMBER, acquire("m", 3000)), asKind(commandv1.ActorKind_ACTOR_KIND_OPEN, acquire("m", 3000))}
			for i := range left {
				if g := l.must(at(epoch, members[i%3])).Grant; g.Worker != uint64(size-left+i) {
					t.Errorf("a member got worker %d", g.Worker)
				}
			}
			// Those of the members are free first, and only members get them again.
			l.survives()
			if left > 0 {
				l.refused(commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED, at(epoch+3500, by(id, l.index, acquire("more", 10_000))))
				if g := l.must(at(epoch+3500, acquire("other", 3000))).Grant; g.Worker != uint64(size-left) {
					t.Errorf("another member got worker %d", g.Worker)
				}
			}
			if g := l.must(at(epoch+20_000, by(id, l.index, acquire("more", 10_000)))).Grant; g.Worker != 0 {
				t.Errorf("an application got worker %d after all had passed, want the oldest", g.Worker)
			}
			l.survives()
		})
	}
}

// TestHoldersOfTokensAreApart: two applications and a member that use one name do not get each other's workers, and are
// shown apart.
func TestHoldersOfTokensAreApart(t *testing.T) {
	l := newLog(t, withWorkers(6))
	billing, shop := l.token("billing"), l.token("shop")
	acquireBy := func(id uint64, now int64) Grant {
		cmd := acquire("host/0", 1000)
		if id != 0 {
			cmd = by(id, l.index, cmd)
		}
		return l.must(at(now, cmd)).Grant
	}
	var workers []uint64
	for _, id := range []uint64{billing, shop, 0} {
		workers = append(workers, acquireBy(id, epoch).Worker)
	}
	for i, id := range []uint64{billing, shop, 0} {
		if g := acquireBy(id, epoch+5000); g.Worker != workers[i] {
			t.Errorf("token %d got worker %d, and had %d", id, g.Worker, workers[i])
		}
	}
	for i, want := range []GrantRecord{{Holder: "billing/host/0", Owner: billing}, {Holder: "shop/host/0", Owner: shop}, {Holder: "host/0"}} {
		if r := l.Workers("tiny", workers[i], 1)[0]; r.Holder != want.Holder || r.Owner != want.Owner {
			t.Errorf("worker %d: %+v, want %+v", workers[i], r.GrantRecord, want)
		}
	}
	l.survives()
	// Another token of the same name is another application.
	l.must(deleteToken(shop))
	again := l.token("shop")
	if g := acquireBy(again, epoch+20_000); g.Worker == workers[1] {
		t.Errorf("the new token got the worker of the deleted one, %d", g.Worker)
	}
	l.refused(unauthenticatedReason, at(epoch+20_000, by(0, l.index, acquire("host/0", 1000))))
	l.survives()
}

// TestSnapshotRefusesHoldersThatNoStateWrites reads snapshots with correct checksums.
func TestSnapshotRefusesHoldersThatNoStateWrites(t *testing.T) {
	l := newLog(t, withWorkers(2))
	id := l.token("app")
	for i := range 4 {
		cmd := acquire(fmt.Sprint("h", i), 1000)
		if i < 2 {
			cmd = by(id, l.index, cmd)
		}
		l.must(at(epoch, cmd))
	}
	data := snapshotBytes(t, l.State)
	type records = []*commandv1.SnapshotRecord
	// The records: meta, layout, workers 0 to 3, their grants, a token.
	const worker, grant = 2, 6
	both := func(i int, owner uint64, holder string) func(records) records {
		return func(r records) records {
			r[worker+i].GetWorker().Owner, r[worker+i].GetWorker().Holder = owner, holder
			r[grant+i].GetGrant().Owner, r[grant+i].GetGrant().Holder = owner, holder
			return r
		}
	}
	if _, err := ReadState(bytes.NewReader(reseal(t, data, both(0, id+100, "gone/h0"))), Version); err != nil {
		t.Errorf("a holder of a deleted token: %v", err)
	}
	for name, edit := range map[string]func(records) records{
		"no holder":           both(0, id, "app/"),
		"no token":            both(0, id, "/h0"),
		"no slash":            both(0, id, "app"),
		"a wrong holder":      both(0, id, "app/a b"),
		"a long holder":       both(2, 0, strings.Repeat("x", 129)),
		"a worker of members": both(3, id, "app/h3"),
		"another owner":       func(r records) records { r[worker].GetWorker().Owner++; return r },
	} {
		if s, err := ReadState(bytes.NewReader(reseal(t, data, edit)), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}
