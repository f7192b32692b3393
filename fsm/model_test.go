package fsm

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The model: several processes with clocks of their own propose to a log that loses,
// delays, repeats and reorders their requests and the answers. Replicas apply the log,
// are restored from each other's snapshots and must agree. A ghost audit checks every
// grant and every ID that the processes issue.

// source makes every choice of a walk: n choices, 0 to n-1.
type source interface {
	choose(label string, n int) int
}

// violation is a broken promise.
type violation struct{ what, text string }

func (v violation) Error() string { return v.what + ": " + v.text }

func violated(what, format string, args ...any) error {
	return violation{what, fmt.Sprintf(format, args...)}
}

// adversary limits the actions of a walk on the log, and its checks.
type adversary struct {
	idsOnly  bool // look at nothing but the IDs that were issued
	noRepeat bool // apply each proposal at most once
	noForge  bool // no claim with a token, a nonce or an end that is not the holder's
}

const (
	modelEpoch = int64(1_700_000_000_000)
	modelUnit  = int64(250) // ms a tick
)

var modelSpecs = []snowflake.Spec{
	{Name: "long", UnitMillis: modelUnit, EpochMillis: modelEpoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldWorker, Bits: 2}, {Field: snowflake.FieldSequence, Bits: 1},
	}, Spread: 2},
	{Name: "short", UnitMillis: modelUnit, EpochMillis: modelEpoch, Datacenter: 1, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 6}, {Field: snowflake.FieldDatacenter, Bits: 1}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
	}},
}

// process is one holder: at most one lane, at most one request in progress.
type process struct {
	name   string
	starts uint64 // number of starts
	number uint64
	skew   int64 // the process's clock minus the true time
	lane   *lane
	asked  *proposal // the request whose answer it waits for
	block  *held
	repeat *commandv1.Command // the last request with an ID, while it was not answered

	application string // whose token it has; empty for a member
	token       uint64 // ID of its token, which may be revoked
}

func (p *process) nonceHash() []byte {
	nonce := make([]byte, hashBytes)
	binary.BigEndian.PutUint64(nonce, p.number)
	binary.BigEndian.PutUint64(nonce[8:], p.starts)
	return nonce
}

// lane is a process's source of IDs: its window and a position that only grows.
type lane struct {
	layout      string
	grant       Grant
	tick, seq   int64 // the next position
	used        bool
	nonce       []byte
	extension   uint64 // ID of the extension that was not answered yet; 0: none
	layoutValue *snowflake.Layout
}

// proposal is a request that may be applied never, once or several times.
type proposal struct {
	data    []byte
	cmd     *commandv1.Command
	refuted *Refused // refusal that the state gave at the time of the request
	process *process
	starts  uint64
	lane    *lane
	idle    bool // the process does not use the granted block
}

// reply is a result on its way to the process that sent the request.
type reply struct {
	to     *proposal
	result Result
	era    int // era of the granted block
	term   uint64
}

type world struct {
	source
	adversary
	leases    bool // requests have fields of leases, and a layout is for leases only
	documents bool // sequences have what came with DocumentVersion
	machines  []*Machine
	processes []*process
	pending   []*proposal
	answers   []reply
	now       int64
	index     uint64
	term      uint64
	audit     audit
	issued    map[string]map[uint64]bool // issued IDs, by layout
	given     map[given]bool
	log       []*raft.Log
	era       int               // era of the block that was granted last
	used      [][]byte          // request IDs, which may be used again
	level     int64             // last offset of the observed clock, in half lives of an answer
	drawn     uint64            // number of extension IDs used
	secrets   int               // number of drawn secrets of codes
	eras      map[string]int    // eras of the sequences
	eraOf     map[requestOf]int // eras of the requests
	lastBlock map[string]uint64 // token of each sequence's last block, which is easy to guess
	keyOf     map[uint64][]byte // hash of the return key of each block, by token
	tokens    map[string]uint64 // ID of each application's last token
	claims    []position.Position
	check     struct { // the last checkpoint that the leader knows
		index  uint64
		digest []byte
	}
}

func newWorld(s source, a adversary, replicas int) *world {
	w := &world{
		source: s, adversary: a, term: 1, now: modelEpoch + 8*modelUnit, issued: map[string]map[uint64]bool{}, audit: newAudit(modelSpecs),
		given: map[given]bool{}, eras: map[string]int{}, eraOf: map[requestOf]int{}, lastBlock: map[string]uint64{}, keyOf: map[uint64][]byte{}, tokens: map[string]uint64{},
	}
	for range replicas {
		w.machines = append(w.machines, New(Options{}))
	}
	// The last one has the first one's name: a process that is started again while
	// the old one is still alive. The applications between take names of others.
	for i, p := range []process{{name: "a/0"}, {name: "b/0", application: "a"}, {name: "a/0", application: "b"}, {name: "a/0"}} {
		p.number, p.starts = uint64(i), 1
		w.processes = append(w.processes, &p)
	}
	return w
}

// run takes a number of steps and returns the first violation.
func (w *world) run(steps int) error {
	if w.leases {
		if err := w.propose(raise(Version)); err != nil {
			return err
		}
	}
	if w.documents = w.choose("documents", 2) == 0; w.documents {
		if err := w.propose(raise(DocumentVersion)); err != nil {
			return err
		}
	}
	for _, spec := range w.specs() {
		if err := w.propose(&commandv1.Command{ClockAtMs: w.now, Body: &commandv1.Command_CreateLayout{
			CreateLayout: &commandv1.CreateLayout{Spec: LayoutSpec(spec)},
		}}); err != nil {
			return err
		}
	}
	if err := w.setConfig(); err != nil {
		return err
	}
	if err := w.makeTokens(); err != nil {
		return err
	}
	for range 2 * w.choose("begin", 2) { // the version, and a leadership
		if err := w.lead(); err != nil {
			return err
		}
	}
	for range steps {
		if err := w.step(); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	return w.checkWhoIs()
}

func (w *world) step() error {
	p := w.processes[w.choose("process", len(w.processes))]
	switch w.choose("action", 36) {
	case 0, 1:
		w.now += int64(w.choose("pass", 6)) * modelUnit / 2
	case 2:
		w.jump(p)
	case 3, 4, 5, 6:
		w.acquire(p)
	case 7, 8, 9:
		w.extend(p)
	case 10:
		w.release(p)
	case 11, 12, 13, 14:
		return w.apply()
	case 15, 16, 17:
		return w.applyAndAnswer()
	case 18, 19:
		return w.issue(p)
	case 20:
		w.deliver()
	case 21:
		w.crash(p)
	case 22:
		return w.restoreOne()
	case 23:
		return w.operate(p)
	case 24, 25, 26:
		w.administer(p)
	case 27, 28, 29, 30:
		if w.choose("request", 8) == 0 {
			w.request(p, w.name())
		} else {
			w.allocate(p)
		}
	case 31:
		w.giveBack(p)
	case 32, 33:
		return w.numberOne(p)
	case 34, 35:
		return w.applyAndAnswer()
	}
	return nil
}

// propose commits a command at once.
func (w *world) propose(cmd *commandv1.Command) error {
	cmd.Version = MinVersion(cmd)
	data, err := Encode(cmd)
	if err != nil {
		return violated("encode", "%v", err)
	}
	_, err = w.commit(data, cmd)
	return err
}

// commit applies an entry on every replica and audits it.
func (w *world) commit(data []byte, cmd *commandv1.Command) (Result, error) {
	w.index += uint64(1 + w.choose("gap", 2))
	if w.choose("election", 8) == 0 {
		w.term++
	}
	config, observed, sealed := w.machines[0].ConfigValue(), w.machines[0].Observed().Load(), w.machines[0].Sealed() != nil
	var results []Result
	w.log = append(w.log, &raft.Log{Index: w.index, Term: w.term, Type: raft.LogCommand, Data: data})
	for _, m := range w.machines {
		result := m.Apply(w.log[len(w.log)-1]).(Result)
		if result.Halted != nil {
			return result, violated("halted", "%v", result.Halted)
		}
		result.Layout, result.Config = nil, nil
		results = append(results, result)
	}
	answered := results[w.choose("leader", len(results))]
	w.era = w.countEras(cmd, answered)
	if w.idsOnly {
		return answered, nil
	}
	for _, r := range results {
		if !reflect.DeepEqual(r, results[0]) { //nolint:govet // the errors in a result are values, and part of what must be equal
			return answered, violated("results", "%+v and %+v", r, results[0])
		}
	}
	if sealed || cmd.GetSeal() != nil {
		if err := checkSealed(sealed, cmd, answered); err != nil {
			return answered, err
		}
		return answered, w.checkDigests()
	}
	if err := w.audit.check(w.index, w.term, cmd, config, observed, results[0]); err != nil {
		return answered, err
	}
	if err := checkSwap(w.index, cmd.GetSetConfig(), config, w.machines[0].ConfigValue(), results[0]); err != nil {
		return answered, err
	}
	if err := w.checkState(); err != nil {
		return answered, err
	}
	return answered, w.checkDigests()
}

func (w *world) checkDigests() error {
	if w.idsOnly {
		return nil
	}
	var first [32]byte
	for i, m := range w.machines {
		var digest [32]byte
		m.View(func(s *State) { digest = s.Digest() })
		if i == 0 {
			first = digest
		} else if digest != first {
			return violated("digest", "replicas 0 and %d differ after index %d", i, w.index)
		}
	}
	return nil
}

// checkState compares a replica's workers with the audit's.
func (w *world) checkState() (err error) {
	w.machines[w.index%uint64(len(w.machines))].View(func(s *State) {
		for _, info := range s.Layouts() {
			if err == nil {
				err = w.audit.compare(info, s.Workers(info.Layout.Name(), 0, 100))
			}
		}
		if err == nil {
			err = w.audit.compareSequences(s)
		}
		if err == nil {
			err = w.audit.compareTokens(s)
		}
	})
	return err
}

// checkWhoIs checks the grant of every cell of the audit.
func (w *world) checkWhoIs() (err error) {
	if w.idsOnly {
		return nil
	}
	w.machines[0].View(func(s *State) { err = w.audit.checkWhoIs(s) })
	return err
}
