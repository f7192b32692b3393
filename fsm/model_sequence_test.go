package fsm

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The steps of the processes of a walk with sequences: they change sequences, request
// blocks, issue numbers from their blocks, and return the rest.

var modelNames = []string{"s/0", "s/1"}

// modelNumbers are start, increment, min and max: short, and near both ends of int64.
var modelNumbers = [][4]int64{
	{1, 1, 1, 30},
	{1, 3, 1, 40},
	{20, -2, -10, 30},
	{math.MaxInt64 - 9, 1, math.MinInt64, math.MaxInt64},
	{math.MaxInt64 - 10, 3, math.MinInt64, math.MaxInt64},
	{math.MinInt64 + 9, -1, math.MinInt64, math.MaxInt64},
	{math.MinInt64 + 10, -3, math.MinInt64, math.MinInt64 + 20},
	{5, math.MinInt64, math.MinInt64, math.MaxInt64},
}

// modelDay is the length of a day, short so that a walk has several. A month has four days: the first ones of a real month, which
// are in one or two weeks.
const modelDay = 2 * modelUnit

// held is a block that a process issues numbers from.
type held struct {
	name string
	era  int // number of times that numbers of the name were allowed to repeat before the grant
	term uint64
	BlockGrant
	keyHash []byte
	used    uint64
}

// given is a number that was issued.
type given struct {
	name   string
	era    int
	period int32
	number int64
}

// requestOf identifies a request with an ID.
type requestOf struct {
	token uint64
	id    string
}

// period returns the present period of a kind by a process's clock.
func (w *world) period(p *process, spec *commandv1.SequenceSpec) int32 {
	return modelPeriod(spec, w.clock(p))
}

// modelPeriod returns the period of a specification that contains a time.
func modelPeriod(spec *commandv1.SequenceSpec, at int64) int32 {
	day := int(max(0, (at-modelEpoch)/modelDay))
	date := time.Date(2025+day/48, time.Month(1+day/4%12), 1+day%4, 0, 0, 0, 0, time.UTC)
	return int32(calendarOf(PeriodsOf(spec)).PeriodAt(date))
}

func (w *world) name() string { return modelNames[w.choose("name", len(modelNames))] }

// seen returns a sequence as some replica has it. The replica may be behind.
func (w *world) seen(name string) Sequence {
	q, _ := w.machines[w.choose("replica", len(w.machines))].Sequence(name)
	return q
}

func (w *world) modelSpec(name string) *commandv1.SequenceSpec {
	n := modelNumbers[w.choose("numbers", len(modelNumbers))]
	reset := []commandv1.SequenceReset{resetNone, resetNone, resetDaily, resetDaily, resetMonthly, resetYearly}[w.choose("reset", 6)]
	spec := plain(name, numbers(n[0], n[1], n[2], n[3]), resetting(reset))
	if w.documents && w.choose("calendar", 2) == 0 {
		spec.Reset_ = []commandv1.SequenceReset{resetDaily, resetWeekly, resetQuarterly, resetYearly}[w.choose("reset", 4)]
		spec.YearStarts = []uint32{0, 202, 1003}[w.choose("years start", 3)]
	}
	spec.Format = []string{"", "{date:yyyyMMdd}/{seq}"}[w.choose("format", 2)]
	if w.documents && w.choose("late", 3) > 0 {
		spec.Reset_, spec.LateMs = resetDaily, []int64{2, 8}[w.choose("long", 2)]*modelDay
	}
	return spec
}

// numberOne gives a number out of the process's block.
func (w *world) numberOne(p *process) error {
	for range 1 + w.choose("numbers", 4) {
		b := p.block
		if b == nil || b.used == b.Count {
			return nil
		}
		n := given{b.name, b.era, b.Period, numberAt(b.First, b.used, b.Increment)}
		if w.given[n] {
			return violated("duplicate", "%+v, issued again under token %d", n, b.Token)
		}
		w.given[n] = true
		b.used++
	}
	return nil
}

func (w *world) allocate(p *process) {
	if p.repeat != nil && w.choose("repeat", 2) == 0 { // no answer arrived
		w.ask(p, nil, proto.CloneOf(p.repeat))
		return
	}
	q := w.seen(w.name())
	if q.Spec == nil {
		return
	}
	c := &commandv1.AllocateBlock{
		Name: q.Spec.GetName(), Count: []uint64{1, 2, 3, 8, 50}[w.choose("count", 5)], Generation: q.Generation,
		Period: w.period(p, q.Spec), Whole: w.choose("whole", 4) == 0, ReturnKeyHash: p.keyHash(),
	}
	if w.choose("keyless", 6) == 0 {
		c.ReturnKeyHash = nil
	}
	c.OpenFrom = w.openFrom(q.Spec)
	if q.Spec.GetLateMs() != 0 && w.choose("late", 2) == 0 {
		w.wantEarlier(c, q)
	}
	cmd := &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: c}}
	p.repeat = nil
	if w.choose("ID", 4) == 0 {
		c.RequestId, p.repeat = w.newID(), cmd
		if w.choose("both", 8) > 0 {
			c.ReturnKeyHash = nil
		}
	}
	w.ask(p, nil, cmd)
}

// openFrom returns the first period of a sequence that is open by the observed clock; 0 if its numbers cannot be late.
func (w *world) openFrom(spec *commandv1.SequenceSpec) int32 {
	if spec.GetLateMs() == 0 {
		return 0
	}
	return modelPeriod(spec, w.machines[0].Observed().Load()-spec.GetLateMs())
}

// wantEarlier makes a request one for numbers of a period, usually an earlier one. The next number that it may state is true: no
// number that follows was granted in the period, except late ones.
func (w *world) wantEarlier(c *commandv1.AllocateBlock, q Sequence) {
	back := int64(w.choose("back", 5)) * modelDay
	c.OnlyPeriod, c.ReturnKeyHash = modelPeriod(q.Spec, w.now-back), nil
	ghost := w.audit.sequences[c.GetName()]
	if !ghost.live || c.GetOnlyPeriod() >= ghost.period || w.choose("state", 2) == 0 {
		return
	}
	from, ok := q.Spec.GetStart(), true
	up := q.Spec.GetIncrement() > 0
	for n := range ghost.granted {
		if n.period == c.GetOnlyPeriod() && !ghost.late[n] && (n.number >= from) == up {
			from, ok = n.number, false
		}
	}
	if !ok {
		from, ok = after(from, q.Spec.GetIncrement())
	}
	if ok {
		c.From = &from
	}
}

// newID returns a request ID that was not used before.
func (w *world) newID() []byte {
	w.used = append(w.used, fmt.Append(nil, "request-", len(w.used)))
	return w.used[len(w.used)-1]
}

// request requests a number with an ID, which was often used before, also by others. The process has no use for the answer.
func (w *world) request(p *process, name string) {
	q := w.seen(name)
	if q.Spec == nil {
		return
	}
	c := &commandv1.AllocateBlock{
		Name: q.Spec.GetName(), Count: []uint64{1, 1, 1, 2}[w.choose("count", 4)], Generation: q.Generation, Period: w.period(p, q.Spec),
	}
	if len(w.used) == 0 || w.choose("new", 2) == 0 {
		c.RequestId = w.newID()
	} else {
		c.RequestId = w.used[len(w.used)-1-w.choose("used", min(2, len(w.used)))]
	}
	w.ask(p, nil, &commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: c}})
	p.asked.idle = true
}

// keyHash returns the hash of the return key of the process's blocks.
func (p *process) keyHash() []byte { return append([]byte("key"), p.nonceHash()[:hashBytes-3]...) }

// giveBack returns the numbers that the process did not issue, or claims those of another process's block, whose token is
// easy to guess, and whose key is not.
func (w *world) giveBack(p *process) {
	b := p.block
	if b == nil {
		return
	}
	p.block = nil
	c := &commandv1.ReturnBlock{Name: b.name, Token: b.Token, Unused: b.Count - b.used, ReturnKeyHash: b.keyHash}
	if w.choose("strict", 2) == 0 {
		c.Term = b.term
	}
	if !w.noForge && w.choose("forge", 3) == 0 {
		token, unused, term := uint64(w.choose("token", int(w.index+1))), uint64(w.choose("unused", 9)), c.GetTerm()
		if w.choose("guess", 2) == 0 && w.lastBlock[b.name] != 0 {
			token, unused, term = w.lastBlock[b.name], 1, 0
		}
		if !bytes.Equal(w.keyOf[token], p.keyHash()) { // else the block is its own, also one whose grant it does not know yet
			c.Token, c.Unused, c.Term = token, unused, term
		}
	}
	w.ask(p, nil, &commandv1.Command{Body: &commandv1.Command_ReturnBlock{ReturnBlock: c}})
}

// administer changes a sequence: at once, or from the log's inbox, late and again.
func (w *world) administer(p *process) {
	if w.documents && w.choose("move", 5) == 0 {
		w.moveOrTakeBack(p)
		return
	}
	name := w.name()
	q, spec := w.seen(name), w.modelSpec(name)
	force := w.choose("force", 6) == 0
	cmd := &commandv1.Command{}
	switch kind := w.choose("admin", 8); {
	case q.Spec == nil || kind == 0:
		c := &commandv1.CreateSequence{Spec: spec, Force: force, Period: w.period(p, spec), OnDemand: w.choose("on demand", 4) == 0}
		if force && !c.GetOnDemand() {
			w.machines[w.choose("replica", len(w.machines))].View(func(s *State) { c.Replaces = new(s.DeletedGeneration(name)) })
		}
		cmd.Body = &commandv1.Command_CreateSequence{CreateSequence: c}
	case kind == 1:
		c := &commandv1.DeleteSequence{Name: name}
		if w.choose("blind", 4) > 0 {
			c.Generation = q.Generation
		}
		cmd.Body = &commandv1.Command_DeleteSequence{DeleteSequence: c}
	default:
		c := &commandv1.UpdateSequence{Spec: spec, Generation: q.Generation, Force: force}
		if w.choose("keep", 2) == 0 { // change little
			c.Spec = q.Spec
			if c.Spec.Reset_, c.Spec.YearStarts = spec.GetReset_(), spec.GetYearStarts(); c.Spec.GetReset_() == resetNone {
				c.Spec.LateMs = 0
			}
			if w.choose("describe", 2) == 0 {
				c.Spec.Description += "."
			}
		}
		if q.Spec.GetLateMs() != 0 || spec.GetLateMs() != 0 {
			c.Period, c.OpenFrom = w.period(p, c.Spec), w.openFrom(q.Spec)
		}
		if w.choose("set", 3) == 0 {
			c.Next = new(q.Next + int64(w.choose("next", 9)) - 3)
		}
		cmd.Body = &commandv1.Command_UpdateSequence{UpdateSequence: c}
	}
	w.code(cmd)
	w.ask(p, nil, cmd)
}

// modelCodes are the codes of formats: those that a name has, usually, and others.
var modelCodes = []*commandv1.Code{
	{Alphabet: commandv1.CodeAlphabet_CODE_ALPHABET_BASE32, Length: 4},
	{Alphabet: commandv1.CodeAlphabet_CODE_ALPHABET_BASE32, Length: 4},
	{Alphabet: commandv1.CodeAlphabet_CODE_ALPHABET_DIGITS, Length: 6},
	{Alphabet: commandv1.CodeAlphabet_CODE_ALPHABET_BASE58, Length: 20},
	{Alphabet: commandv1.CodeAlphabet_CODE_ALPHABET_BASE36, Length: 3},
}

// code gives a change of a sequence a format with codes, and usually a new secret, which only the first change in the log
// keeps.
func (w *world) code(cmd *commandv1.Command) {
	if !w.documents || w.choose("coded", 3) > 0 || cmd.GetCreateSequence().GetOnDemand() {
		return
	}
	c, secret := modelCodes[w.choose("code", len(modelCodes))], []byte(nil)
	if w.choose("secret", 6) > 0 {
		w.secrets++
		secret = fmt.Appendf(nil, "%032d", w.secrets)
	}
	if create := cmd.GetCreateSequence(); create != nil {
		create.Spec.Code, create.CodeSecret = c, secret
	}
	if update := cmd.GetUpdateSequence(); update != nil {
		update.Spec.Code, update.CodeSecret = c, secret
	}
}

// takeBlock gives a process the answer to a request for a block.
func (w *world) takeBlock(p *process, a reply) {
	if c := a.to.cmd.GetAllocateBlock(); c != nil && a.result.Err == nil && !a.to.idle {
		p.block, p.repeat = &held{name: c.GetName(), era: a.era, term: a.term, BlockGrant: a.result.Block, keyHash: c.GetReturnKeyHash()}, nil
	}
}

// countEras notes that numbers may repeat, and returns the era of the block that a
// command was granted.
func (w *world) countEras(cmd *commandv1.Command, r Result) int {
	if r.Err != nil {
		return 0
	}
	if c := cmd.GetCreateSequence(); c.GetForce() && r.Sequence.Incarnation == r.Index {
		w.eras[c.GetSpec().GetName()]++
	}
	if c := cmd.GetUpdateSequence(); c.GetForce() {
		w.eras[c.GetSpec().GetName()]++
	}
	c := cmd.GetAllocateBlock()
	if len(c.GetReturnKeyHash()) > 0 {
		w.lastBlock[c.GetName()], w.keyOf[r.Index] = r.Index, c.GetReturnKeyHash()
	}
	id := requestOf{cmd.GetActor().GetToken(), string(c.GetRequestId())}
	if era, ok := w.eraOf[id]; ok && r.Block.Repeated {
		return era
	}
	if id.id != "" {
		w.eraOf[id] = w.eras[c.GetName()]
	}
	return w.eras[c.GetName()]
}
