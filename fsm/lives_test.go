package fsm

import (
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/test/depth"
	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The lives: a cluster lives, is backed up at any moment, by a member or from a member's directory whose log has an end
// that was never committed, ends, and is restored; twice from one backup, and from a backup of a restored cluster.
// Holders and clients of all lives keep using their grants, and repeat their claims and requests. A window, a number or
// an answer to a request ID that was granted in one life is granted in no other, and no claim of one life counts in
// another. Tokens and generations of two lives differ, if the clocks of the hosts that restored were correct.
//
// Only the first life forces. A life that knows of it may repeat what was granted of the sequence before.
//
// The operator's statements are true: the end of the last life, by the clock of most members; the greatest maximum
// window and offset since the backup; and the last number that was granted of each sequence. After the acknowledgment,
// no name is created that the backup lacks and a life had.

const (
	livesUnit   = int64(250)
	livesOffset = int64(500)
	livesHour   = int64(3_600_000)
)

// livesSpecs are a fine and a coarse layout, and one that is only made later.
var livesSpecs = []snowflake.Spec{
	{Name: "fine", UnitMillis: livesUnit, EpochMillis: epoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldWorker, Bits: 2}, {Field: snowflake.FieldSequence, Bits: 1},
	}},
	{Name: "coarse", UnitMillis: 4000, EpochMillis: epoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
	}},
	{Name: "later", UnitMillis: 1000, EpochMillis: epoch, Fields: []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
	}},
	livesPastSpec,
}

type livesOwner struct {
	life  int
	token uint64
}

type livesWorker struct {
	layout string
	worker uint64
}

type livesNumber struct {
	name   string
	period int32
	number int64
}

// livesGrant is the last grant of a number that was not returned.
type livesGrant struct {
	life  int
	place int  // among the commands of all lives
	late  bool // the period had ended
}

// livesClaim is a window or a block that was granted in some life.
type livesClaim struct {
	life   int
	layout string
	window Grant
	name   string
	block  BlockGrant
	secret []byte // hash of the nonce, or of the return key
}

type livesAnswer struct {
	id     string
	first  int64
	count  uint64
	period int32
}

// livesForce is a command that was forced and would otherwise have had another effect.
type livesForce struct {
	name  string
	place int
}

// livesBackup is the source of a restore.
type livesBackup struct {
	data    []byte // snapshot of the state
	index   uint64
	certain int64 // observed clock of the last state that is certain, if it is not the state
	moment  int   // place of the last command that it has for sure among those of all lives
	known   map[string]int
	forced  map[string]int // see lives
}

type lives struct {
	source
	s           *State
	life        int
	now         int64 // time on the clocks of most members
	counting    bool  // most commands are about one sequence with days, which begin often; its zone changes
	documents   bool  // sequences have what came with DocumentVersion
	wrongHost   bool  // this life was restored with an incorrect clock
	index, term uint64
	log         []*raft.Log // log of this life
	backups     []livesBackup
	stored      *livesBackup // the last snapshot in the directory of a member
	since       int          // length of the log then
	longest     []int64      // each maximum window that was in force, one after the other

	granted  map[livesWorker]map[livesOwner]Grant // windows that were granted and not released
	numbers  map[livesNumber]livesGrant           // those that were granted and not returned
	claims   []livesClaim
	asked    []*commandv1.Command       // requests with an ID, which are sent again
	sent     map[*commandv1.Command]int // life in which the claim of each command was granted
	lastOf   map[string]int             // place of each sequence's last command that granted numbers
	known    map[string]int             // place of each sequence's last command that the state knows for sure
	forces   []livesForce               // those of the first life
	forced   map[string]int             // place of each sequence's last force that the state knows: it may repeat what was granted before
	answered map[livesAnswer]bool       // answers in the logs
	applied  map[uint64]int             // life with a correct clock in which a command had this index: a token, or a generation
	drawn    uint64

	extensions []*commandv1.ExtendBackfill // those that were sent, in any life
	placed     map[livesPlaces]bool        // those that were granted
	lastJob    int64                       // greatest number of a backfill job

	positions []position.Position // committed ones of this life
	led       uint64              // number of leaderships
}

func newLives(s source) *lives {
	return &lives{
		source: s, s: NewState(), life: 1, now: epoch + 100*livesHour, term: 1,
		granted: map[livesWorker]map[livesOwner]Grant{}, numbers: map[livesNumber]livesGrant{}, answered: map[livesAnswer]bool{}, sent: map[*commandv1.Command]int{}, lastOf: map[string]int{}, applied: map[uint64]int{},
		placed: map[livesPlaces]bool{}, lastJob: -1,
	}
}

// run lives that many lives of so many steps.
func (w *lives) run(count, steps int) error {
	for _, spec := range livesSpecs[:2] {
		if err := w.commit(createLayout(spec)); err != nil {
			return err
		}
	}
	version := uint32(1 + w.choose("version", 3))
	if w.documents = version == DocumentVersion; version > firstVersion {
		if err := w.commit(at(w.now, raise(version))); err != nil {
			return err
		}
	}
	for life := range count {
		for range steps {
			if err := w.step(); err != nil {
				return err
			}
		}
		if life+1 < count {
			if err := w.restore(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *lives) step() error {
	switch w.choose("action", 24) {
	case 0, 1:
		if w.counting {
			w.now += []int64{1, 5, 9, 13}[w.choose("hours", 4)] * livesHour
			return nil
		}
		w.now += []int64{livesUnit, 2 * livesUnit, 1000, 5000, livesHour, 13 * livesHour}[w.choose("pass", 6)]
		if w.documents && w.choose("day", 2) == 0 {
			w.now += 24 * livesHour
		}
		return nil
	case 2:
		return w.backUp()
	case 3:
		w.store()
		return nil
	case 4:
		return w.attest()
	}
	return w.commit(w.command(w.s))
}

// clock is the clock of some proposer: ahead of most members' by both offsets at most, and behind by anything.
func (w *lives) clock() int64 {
	return w.now + []int64{0, 2 * livesOffset, livesOffset, -livesUnit, -livesHour}[w.choose("clock", 5)]
}

// commit applies a command and looks at what it did.
func (w *lives) commit(cmd *commandv1.Command) error {
	if cmd == nil {
		return nil
	}
	w.index += uint64(1 + w.choose("gap", 2))
	data, err := Encode(cmd)
	if err != nil {
		return violated("encode", "%v", err)
	}
	w.log = append(w.log, &raft.Log{Index: w.index, Term: w.term, Type: raft.LogCommand, Data: data})
	forced, err := w.forcing(cmd)
	if err != nil {
		return err
	}
	sealed := w.s.Sealed() != nil
	place := w.place(cmd)
	r := w.s.Apply(w.index, w.term, cmd)
	if r.Halted != nil {
		return violated("halted", "%v", r.Halted)
	}
	w.longest = append(w.longest, w.s.Config().GetMaxWindowMs())
	if r.Err != nil {
		return nil
	}
	if err := w.checkHistory(sealed, cmd, r); err != nil {
		return err
	}
	if forced != "" {
		w.forces = append(w.forces, livesForce{forced, len(w.longest)})
	}
	if life, ok := w.sent[cmd]; ok && life != w.life {
		return violated("claim", "life %d accepted a claim of life %d: %v", w.life, life, cmd)
	}
	if life, ok := w.applied[w.index]; ok && life != w.life && !w.wrongHost {
		return violated("index", "life %d and life %d have a token or generation %d", life, w.life, w.index)
	}
	if !w.wrongHost {
		w.applied[w.index] = w.life
	}
	return w.account(cmd, r, place)
}

// account notes what a command granted. place is the position before it of the job that it extends.
func (w *lives) account(cmd *commandv1.Command, r Result, place int64) error {
	switch {
	case cmd.GetStartBackfill() != nil:
		return w.started(r.Backfill)
	case cmd.GetExtendBackfill() != nil:
		return w.extended(cmd.GetExtendBackfill(), place)
	case cmd.GetAcquireWorker() != nil:
		c := cmd.GetAcquireWorker()
		w.claims = append(w.claims, livesClaim{life: w.life, layout: c.GetLayout(), window: r.Grant, secret: c.GetNonceHash()})
		return w.takeWindow(c.GetLayout(), r.Grant)
	case cmd.GetExtendWindow() != nil:
		c := cmd.GetExtendWindow()
		claim, err := w.claimOf(c.GetLayout(), c.GetToken())
		if err != nil {
			return err
		}
		claim.window.Until = r.Grant.Until
		return w.takeWindow(c.GetLayout(), r.Grant)
	case cmd.GetReleaseWorker() != nil:
		c := cmd.GetReleaseWorker()
		claim, err := w.claimOf(c.GetLayout(), c.GetToken())
		if err != nil {
			return err
		}
		claim.window.Until = c.GetNextTick()
		return w.takeWindow(c.GetLayout(), claim.window)
	case cmd.GetAllocateBlock() != nil:
		return w.number(cmd, r.Block)
	case cmd.GetReturnBlock() != nil:
		return w.unnumber(cmd.GetReturnBlock())
	}
	return nil
}

// claimOf returns the window of a token of this life.
func (w *lives) claimOf(layout string, token uint64) (*livesClaim, error) {
	for i := range w.claims {
		if c := &w.claims[i]; c.layout == layout && c.window.Token == token && c.life == w.life {
			return c, nil
		}
	}
	return nil, violated("claim", "life %d accepted the token %d of layout %q, which is not its own", w.life, token, layout)
}

// takeWindow notes the ticks of a window.
func (w *lives) takeWindow(layout string, g Grant) error {
	if layout == livesPastSpec.Name {
		if border := w.s.layouts[layout].border(); g.From < border {
			return violated("border", "%+v begins in the past, which ends at %d", g, border)
		}
		g = places(g)
	}
	return w.take(layout, g)
}

// take notes what a window has now, which no other has.
func (w *lives) take(layout string, g Grant) error {
	k, owner := livesWorker{layout, g.Worker}, livesOwner{w.life, g.Token}
	if w.granted[k] == nil {
		w.granted[k] = map[livesOwner]Grant{}
	}
	for other, was := range w.granted[k] {
		if other != owner && was.From < g.Until && g.From < was.Until {
			return violated("cell", "%+v of %+v overlaps %+v of %+v; now is %d, restored as %v", g, owner, was, other, w.now, w.s.Restored())
		}
	}
	w.granted[k][owner] = g
	return nil
}

func walkLives(seed uint64) error {
	w := newLives(seeded{rand.New(rand.NewPCG(seed, 1))})
	w.counting = seed%5 == 0
	return w.run(2+int(seed%3), 30+int(seed%4)*20)
}

func TestLives(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		d := drawn{t}
		if err := newLives(d).run(2+d.choose("lives", 2), 8+d.choose("steps", 32)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLivesSeeds(t *testing.T) {
	t.Parallel()
	if *walkSeed != 0 {
		if err := walkLives(*walkSeed); err != nil {
			t.Fatal(err)
		}
		return
	}
	for seed := uint64(1); seed <= uint64(depth.Of(depth.Little(40, 80), 2000)); seed++ {
		if err := walkLives(seed); err != nil {
			t.Fatalf("%v\nagain: go test ./fsm -run TestLivesSeeds -fsm.seed %d", err, seed)
		}
	}
}
