package fsm

import (
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// image is the content of the digest and of a snapshot: the state without its derived
// parts. walk visits it in one canonical order, so that equal states give equal bytes
// whatever their history.
type image struct {
	meta      *commandv1.SnapshotMeta // walk adds the digest at the checkpoint
	last      lastCheckpoint
	layouts   []layoutImage // sorted by name
	removed   []string      // oldest first
	tokens    tokens
	templates templates
	sequences sequences
	answers   []answer // oldest first
	lineage   lineage
}

type layoutImage struct {
	record  *commandv1.SnapshotLayout
	workers roll
	history history
	past    *past // nil: none
}

// image returns the state's image. It shares memory with the state.
func (s *State) image() image {
	im := image{
		meta: &commandv1.SnapshotMeta{
			FsmVersion:        s.version,
			ObservedClockAtMs: s.observed,
			Config:            s.config,
			CheckpointIndex:   s.lastCheckpoint.index,
			Restored:          s.restored,
			LoweredClockAtMs:  s.lowered,
		},
		last:      s.lastCheckpoint,
		removed:   s.removed,
		tokens:    s.tokens,
		templates: s.templates,
		sequences: s.sequences,
		answers:   s.answers.kept(),
		lineage:   s.lineage,
	}
	if s.codeSecret != nil {
		im.meta.CodeSecret = s.codeSecret[:]
	}
	if s.version >= LineageVersion {
		im.meta.Index, im.meta.Hash, im.meta.Sealed = s.index, im.lineage.hash[:], s.sealed
	}
	for _, name := range s.names {
		l := s.layouts[name]
		im.layouts = append(im.layouts, layoutImage{
			record:  &commandv1.SnapshotLayout{Spec: LayoutSpec(l.layout.Spec()), CreatedAtMs: l.created},
			workers: l.workers.roll,
			history: l.history,
			past:    l.past,
		})
	}
	return im
}

// imageAlone returns an image that does not change with the state. Workers and sequences are shared until they change;
// tokens, templates, answers and the lineage never change. No other goroutine may use the state meanwhile.
func (s *State) imageAlone() image {
	im := s.image()
	for i, name := range s.names {
		l := s.layouts[name]
		im.layouts[i].workers, im.layouts[i].history, im.layouts[i].past = l.workers.clone(), l.history.clone(), l.past.clone()
	}
	im.removed = slices.Clone(s.removed)
	im.sequences = s.sequences.clone()
	return im
}

// walk visits every record in canonical order: the meta record, each layout with its
// past, its jobs, its workers and then its grants, the removed members, the tokens, the templates, the sequences, the
// answers, the leaderships, the hashes at clocks. A record is valid until visit returns.
func (im image) walk(visit func(*commandv1.SnapshotRecord)) {
	if im.last.index != 0 {
		digest := im.last.digest()
		im.meta.CheckpointDigest = digest[:]
	}
	visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Meta{Meta: im.meta}})
	for i := range im.layouts {
		l := &im.layouts[i]
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Layout{Layout: l.record}})
		l.walkPast(visit)
		l.walkWorkers(visit)
		l.walkGrants(visit)
	}
	for _, id := range im.removed {
		member := &commandv1.SnapshotRemovedMember{Id: id}
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_RemovedMember{RemovedMember: member}})
	}
	im.walkTokens(visit)
	im.walkTemplates(visit)
	im.walkSequences(visit)
	im.walkAnswers(visit)
	im.walkLineage(visit)
}

func (l *layoutImage) walkPast(visit func(*commandv1.SnapshotRecord)) {
	p := l.past
	if p == nil {
		return
	}
	visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Past{Past: &commandv1.SnapshotPast{
		BorderTick: p.border, NextJob: p.next, Closed: p.closed,
	}}})
	for i := range p.jobs {
		j := &p.jobs[i]
		m := &commandv1.SnapshotBackfill{
			Job: j.number, Holder: j.holder, Owner: j.owner, CreatedAtMs: j.created, Place: j.place, Ended: j.ended,
		}
		if j.extension != (placing{}) {
			m.Digest, m.ExtendedFromPlace = j.extension.digest[:], j.extension.from
		}
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Backfill{Backfill: m}})
	}
}

// walkWorkers uses one message for all workers, because there can be millions.
func (l *layoutImage) walkWorkers(visit func(*commandv1.SnapshotRecord)) {
	message := &commandv1.SnapshotWorker{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Worker{Worker: message}}
	for number := range l.workers.count() {
		k := l.workers.see(number)
		message.Worker, message.HighWater, message.FromTick, message.Token = uint64(number), k.highWater, k.from, k.token
		message.Holder, message.Owner, message.NonceHash, message.Released = k.holder, k.owner, k.nonceHash[:], k.released
		message.ExtensionId, message.ExtendedFromTick, message.Process = k.extension.id, k.extension.from, k.process.message()
		visit(record)
	}
}

func (l *layoutImage) walkGrants(visit func(*commandv1.SnapshotRecord)) {
	message := &commandv1.SnapshotGrant{}
	record := &commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Grant{Grant: message}}
	for i := range l.history.entries {
		g := l.history.at(i)
		message.Worker, message.Token, message.Holder, message.Owner, message.NonceHash = g.Worker, g.Token, g.Holder, g.Owner, g.NonceHash[:]
		message.FromTick, message.UntilTick, message.GrantedAtMs, message.Process = g.From, g.Until, g.GrantedMillis, g.Process.message()
		visit(record)
	}
}

func (im image) walkTemplates(visit func(*commandv1.SnapshotRecord)) {
	for _, t := range im.templates {
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Template{Template: &commandv1.SnapshotTemplate{
			Spec: t.message(), CreatedAtMs: t.created, Generation: t.generation, Suspended: t.suspended, Start: t.start,
		}}})
	}
}

func (im image) walkTokens(visit func(*commandv1.SnapshotRecord)) {
	if a := im.tokens.anonymous; a.Generation != 0 {
		message := a.message()
		message.Name, message.Hash = "", nil
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Token{Token: message}})
	}
	for _, r := range im.tokens.byID {
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Token{Token: r.message()}})
	}
}

// message returns the form of a token in snapshots. It shares memory with the record.
func (r *TokenRecord) message() *commandv1.SnapshotToken {
	return &commandv1.SnapshotToken{
		Id: r.ID, Generation: r.Generation, Narrowed: r.narrowed, Name: r.Name, Hash: r.Hash[:], Scopes: r.Scopes,
		CreatedAtMs: r.CreatedMillis, ExpiresAtMs: r.ExpiresAtMillis, Rate: r.Rate, Burst: r.Burst, Disabled: r.Disabled,
		Sequences: r.Sequences, Begun: r.Begun,
	}
}

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
