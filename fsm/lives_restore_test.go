package fsm

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hashicorp/raft"
)

// attest commits a statement of the operator of a restored cluster.
func (w *lives) attest() error {
	if w.life == 1 {
		return nil
	}
	switch w.statement() {
	case 9:
		return w.commit(w.resumePast())
	case 0:
		return w.commit(acknowledge(w.s.Restored().GetIndex()))
	case 1:
		return w.end(fmt.Sprint("cluster-", 1+w.choose("cluster", w.life)))
	case 2, 3:
		return w.commit(w.resumeTemplate())
	}
	if w.choose("ended", 2) == 0 {
		return w.attestPeriod()
	}
	page := w.s.Frozen("", 100)
	if len(page) == 0 {
		return nil
	}
	q := page[w.choose("frozen", len(page))]
	cmd := resume(q.Spec.GetName(), q.Generation, nil, uint64(w.choose("margin", 3)))
	if last, some := w.last(q); some && w.lastOf[q.Spec.GetName()] > w.known[q.Spec.GetName()] { // else the backup knows all that was granted
		cmd.GetResumeSequence().After = &last
		if w.choose("by margin", 3) == 0 { // margin beyond the last number, instead of the number
			cmd.GetResumeSequence().After = nil
			cmd.GetResumeSequence().Margin += 4000
		}
	}
	if w.documents && q.Generation%2 == 0 {
		states(cmd, "X{seq}")
	}
	return w.commit(cmd)
}

// statement chooses what an operator says; 4 or more but 9: that a sequence or a period is resumed.
func (w *lives) statement() int {
	if w.counting {
		return 4
	}
	return w.choose("statement", 10)
}

// attestPeriod commits the operator's statement about a period that ended.
func (w *lives) attestPeriod() error {
	q, ok := w.s.Sequence(w.name())
	if !ok || q.Spec.GetLateMs() == 0 {
		return nil
	}
	period, _ := livesPeriod(PeriodsOf(q.Spec), w.now-int64(w.choose("back", 4))*24*livesHour)
	last, some := w.lastIn(q, period, true)
	if !some {
		last = q.Spec.GetStart() - 1
	}
	return w.commit(resumePeriod(period, resume(q.Spec.GetName(), q.Generation, &last, uint64(w.choose("margin", 3)))))
}

// end commits the statement that another life ended, which may be repeated. Branches are not restored.
func (w *lives) end(cluster string) error {
	if w.s.Restored() == nil {
		return nil
	}
	err := w.commit(superseding(cluster))
	if known := w.s.Restored().GetSuperseded(); err == nil && !slices.Contains(known, cluster) {
		err = violated("superseded", "%v lacks %q", known, cluster)
	}
	return err
}

// backUp keeps the state of a member, or the state in the directory of a member whose log has an end that was never
// committed.
func (w *lives) backUp() error {
	if w.stored == nil || w.choose("directory", 2) == 0 {
		w.backups = append(w.backups, w.backup(w.s, w.s.Frozen("", 100), w.index, len(w.longest)))
		return nil
	}
	committed := w.choose("committed", len(w.log)-w.since+1)
	tail, index, err := w.tail(w.log[w.since : w.since+committed])
	if err != nil {
		return err
	}
	start, err := w.read(w.stored.data)
	if err != nil {
		return err
	}
	frozen, replay := start.Frozen("", 100), NewReplay(start, Version)
	for _, entry := range tail {
		if err := replay.Apply(entry); err != nil {
			return violated("replay", "%v", err)
		}
	}
	window, offset := replay.Limits()
	covering, err := replay.State()
	if err != nil {
		return violated("replay", "%v", err)
	}
	w.backups = append(w.backups, w.backup(covering, frozen, index, w.stored.moment+committed))
	w.backups[len(w.backups)-1].certain = covering.certain
	return w.covers(covering, tail, window, offset)
}

// backup is one of a state. Of a sequence that is frozen it knows no more than the backup that this life began with.
func (w *lives) backup(s *State, frozen []Sequence, index uint64, moment int) livesBackup {
	b := livesBackup{data: w.write(s), index: index, moment: moment, known: map[string]int{}, forced: w.forcedUntil(moment)}
	for _, name := range livesNames {
		b.known[name] = moment
	}
	for _, q := range frozen {
		b.known[q.Spec.GetName()] = w.known[q.Spec.GetName()]
	}
	return b
}

// tail returns a log that begins with the committed commands and continues with those of a leader that commits nothing.
func (w *lives) tail(committed []*raft.Log) (tail []*raft.Log, index uint64, err error) {
	leader, err := w.read(w.stored.data)
	if err != nil {
		return nil, 0, err
	}
	index = w.stored.index
	for _, entry := range committed {
		cmd, _ := Decode(entry.Data)
		leader.Apply(entry.Index, entry.Term, cmd)
		tail, index = append(tail, entry), entry.Index
	}
	if err := w.committed(leader); err != nil {
		return nil, 0, err
	}
	for range w.choose("lost", 12) {
		cmd := w.command(leader)
		if cmd == nil {
			continue
		}
		index++
		data, err := Encode(cmd)
		if err != nil {
			return nil, 0, violated("encode", "%v", err)
		}
		tail = append(tail, &raft.Log{Index: index, Term: w.term + 1, Type: raft.LogCommand, Data: data})
		leader.Apply(index, w.term+1, cmd)
	}
	return tail, index, nil
}

// covers checks that a replayed state and its limits cover the exact ones at each index of its log.
func (w *lives) covers(covering *State, tail []*raft.Log, window, offset int64) error {
	s, err := w.read(w.stored.data)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := covers(covering, s); err != nil {
			return err
		}
		if c := s.Config(); window < c.GetMaxWindowMs() && len(s.layouts) > 0 || offset < c.GetMaxClockOffsetMs() {
			return violated("limits", "%d and %d, below those of %v", window, offset, c)
		}
		if i == len(tail) {
			return nil
		}
		cmd, _ := Decode(tail[i].Data)
		s.Apply(tail[i].Index, tail[i].Term, cmd)
	}
}

// store keeps the state as a member does: a snapshot, and the log from there on.
func (w *lives) store() {
	b := w.backup(w.s, w.s.Frozen("", 100), w.index, len(w.longest))
	w.stored, w.since = &b, len(w.log)
}

func (w *lives) write(s *State) []byte {
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func (w *lives) read(data []byte) (*State, error) {
	s, err := ReadState(bytes.NewReader(data), Version)
	if err != nil {
		return nil, violated("snapshot", "%v", err)
	}
	return s, nil
}

// restore ends this life and begins another.
func (w *lives) restore() error {
	if err := w.backUp(); err != nil {
		return err
	}
	b := w.backups[w.choose("backup", len(w.backups))]
	s, err := w.read(b.data)
	if err != nil {
		return err
	}
	s.certain = b.certain
	return w.begin(s, b)
}

// begin ends this life and begins another with the state of a backup.
func (w *lives) begin(s *State, b livesBackup) error {
	ended := w.now
	w.now += []int64{2000, 5000, livesHour, 30 * livesHour}[w.choose("outage", 4)]
	host := []int64{0, -livesHour, 1000}[w.choose("host", 3)]
	r := Restoration{
		NowMillis: w.now + host, OldCluster: fmt.Sprint("cluster-", w.life),
		OldEndedMillis: ended, MaxOffsetMillis: livesOffset, Period: livesPeriod,
		KeepTokens: w.choose("tokens", 2) == 0,
	}
	for _, window := range w.longest[max(0, b.moment-1):] {
		r.MaxWindowMillis = max(r.MaxWindowMillis, window)
	}
	r.Index = s.FirstIndex(b.index, r.NowMillis, ended)
	err := s.Restore(r)
	if err != nil {
		return violated("restore", "%v", err)
	}
	if s, err = w.read(w.write(s)); err != nil {
		return err
	}
	if s.Sealed() != nil {
		return violated("seal", "life %d begins sealed", w.life+1)
	}
	w.positions = nil
	w.s, w.life, w.index, w.term, w.log, w.stored, w.since, w.known, w.forced = s, w.life+1, r.Index, w.term+1, nil, nil, 0, b.known, b.forced
	w.wrongHost = host < 0
	return nil
}
