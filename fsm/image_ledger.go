package fsm

import commandv1 "github.com/snowraft/snowraft/proto/command/v1"

// walk visits the periods with their fates, and then the keys. It uses one message for all records of a kind.
func (l *ledger) walk(visit func(*commandv1.SnapshotRecord)) {
	if l == nil {
		return
	}
	period, ofFate := &commandv1.SnapshotPeriod{}, &commandv1.SnapshotFate{}
	ofPeriod := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Period{Period: period}}
	fate := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Fate{Fate: ofFate}}
	l.periods.Scan(func(day int32, a *account) bool {
		period.Period, period.First, period.Next, period.Cut = day, a.first, a.next, a.cut
		visit(ofPeriod)
		a.runs.Scan(func(first int64, r *run) bool {
			ofFate.First, ofFate.Count, ofFate.Kind, ofFate.Key = first, distance(first, r.until), r.kind, r.key
			ofFate.Voids, ofFate.Reason, ofFate.Reusable = r.voids, r.reason, r.reusable
			ofFate.Index, ofFate.AtMs, ofFate.Actor = r.index, r.stamp.at, r.by.message()
			visit(fate)
			return true
		})
		return true
	})
	ofKey := &commandv1.SnapshotReservation{}
	key := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Reservation{Reservation: ofKey}}
	l.keys.Scan(func(name string, r *reservation) bool {
		ofKey.Key, ofKey.Period, ofKey.Number, ofKey.Reservation, ofKey.Attempt = name, r.period, r.number, r.index, r.attempt
		ofKey.State, ofKey.ReservedAtMs, ofKey.Holder = r.state, r.reserved, r.holder.message()
		ofKey.SettledIndex, ofKey.SettledAtMs = r.settled, r.settledAt
		visit(key)
		return true
	})
}
