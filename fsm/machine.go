package fsm

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// Options holds the settings of a [Machine]. The zero value is valid.
type Options struct {
	// Supported is the newest fsm_version to accept; 0 means [Version].
	Supported uint32

	// Halt, if set, is called once, when the machine meets something that it must not
	// skip: an entry that is damaged or unknown, a newer version, a state that differs
	// from the leader's. The error wraps [ErrHalted] and names the operator's action.
	// Admit, Apply and Restore call Halt with no lock held, Apply on raft's goroutine.
	Halt func(error)
}

// Machine is the raft.FSM over a [State]. It decodes log entries and guards the state
// for readers on other goroutines. It publishes the values that every issue reads
// without a lock. It halts instead of skipping an entry.
type Machine struct {
	options Options

	// Read without mu; written with it.
	observed atomic.Int64
	config   atomic.Pointer[commandv1.Config]
	layouts  atomic.Pointer[map[string]*snowflake.Layout] // the map is never changed, only replaced
	applied  atomic.Uint64
	revision atomic.Uint64 // see SequenceRevision
	tokens   atomic.Pointer[tokens]
	restored atomic.Pointer[commandv1.Restored]
	sealed   atomic.Pointer[commandv1.Sealed]

	tokenRevision atomic.Uint64 // see TokenRevision

	mu        sync.RWMutex
	state     *State
	halted    error         // reason for the halt; nil while the machine runs
	changed   chan struct{} // closed at the next change, see Changed
	published uint64        // the state's revision that was published last
	sequences uint64        // the state's sequenceRevision that was published last
	tokened   uint64        // the state's tokenRevision that was published last
	term      uint64        // term of the last command; 0 before the first
	waiters   []waiter      // calls of AwaitApplied
}

var _ raft.FSM = (*Machine)(nil)

// New returns a machine with the state before the first command.
func New(options Options) *Machine {
	if options.Supported == 0 {
		options.Supported = Version
	}
	if options.Halt == nil {
		options.Halt = func(error) {}
	}
	m := &Machine{options: options, changed: make(chan struct{})}
	m.install(NewState())
	return m
}

// Observed returns the observed clock in Unix milliseconds, 0 before the first
// observation. Callers must not change it; every issue reads it without a lock.
func (m *Machine) Observed() *atomic.Int64 { return &m.observed }

// ConfigValue returns the current configuration: the default before the first
// SetConfig. It takes no lock. The caller must not change the configuration.
func (m *Machine) ConfigValue() *commandv1.Config { return m.config.Load() }

// Restored returns the record of the restore from a backup; nil if the cluster was not restored. Restored takes no lock. The
// caller must not change the record.
func (m *Machine) Restored() *commandv1.Restored { return m.restored.Load() }

// Layout returns the layout with that name. It takes no lock.
func (m *Machine) Layout(name string) (*snowflake.Layout, bool) {
	l, ok := (*m.layouts.Load())[name]
	return l, ok
}

// View calls read with the state, which must not be used after read has returned. No
// command is applied meanwhile, so read must be quick. It must not call the Machine.
func (m *Machine) View(read func(*State)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	read(m.state)
}

// Changed returns a channel that is closed at the next change of the configuration,
// the layouts, fsm_version, the record of a restore or a seal, or a sequence. A grant of a block
// does not count as a change of its sequence, a new period does. Callers take the
// channel before they read these values.
func (m *Machine) Changed() <-chan struct{} {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.changed
}

// Apply applies a log entry and returns its [Result]. It ignores entries that are not
// commands. A halted machine changes nothing. raft calls Apply from one goroutine.
func (m *Machine) Apply(log *raft.Log) any {
	if log.Type != raft.LogCommand {
		return Result{}
	}
	result, halting := m.apply(log)
	if halting {
		m.options.Halt(result.Halted)
	}
	return result
}

// Admit returns an error for a command that the machine cannot apply, before the command enters the log. The machine halts
// over an intact command that this build does not know, because a newer leader sent it. A damaged command halts nothing.
func (m *Machine) Admit(log *raft.Log) error {
	_, err := decodeFor(log, m.options.Supported)
	if errors.Is(err, ErrUnknownCommand) && m.haltOnce(haltOver(log, err)) {
		m.options.Halt(haltOver(log, err))
	}
	return err
}

// haltOnce halts the machine. It returns false if the machine had halted before.
func (m *Machine) haltOnce(err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted != nil {
		return false
	}
	m.halt(err)
	return true
}

// apply applies a command under the lock. halting reports whether this command halted
// the machine.
func (m *Machine) apply(log *raft.Log) (result Result, halting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted != nil {
		return halted(m.halted), false
	}
	cmd, err := decodeFor(log, m.options.Supported)
	if err != nil {
		result = halted(haltOver(log, err))
	} else {
		result = m.state.applyLog(log, cmd)
	}
	if result.Halted != nil {
		m.halt(result.Halted)
		return result, true
	}
	m.term = log.Term
	m.publish()
	if cmd.GetCheckpoint() != nil {
		go m.state.lastCheckpoint.digest() // a later call with locks held then finds it computed
	}
	return result, false
}

// decodeFor returns the command of a log entry if a build that supports the given
// fsm_version can apply it. The version comes first, because it explains unknown fields.
func decodeFor(log *raft.Log, supported uint32) (*commandv1.Command, error) {
	cmd, err := decode(log.Data)
	if err != nil {
		return nil, err
	}
	need := max(cmd.GetVersion(), cmd.GetRaiseVersion().GetVersion())
	if need <= supported {
		if err := checkCommand(cmd); err != nil {
			return nil, err
		}
		need = max(need, MinVersion(cmd))
	}
	if need > supported {
		return nil, &NewerError{Used: need, Known: supported}
	}
	return cmd, nil
}

// haltOver returns the reason to halt over a log entry that decodeFor refused.
func haltOver(log *raft.Log, err error) error {
	if newer, ok := errors.AsType[*NewerError](err); ok {
		return newer
	}
	return haltAt(log.Index, adviceFor(err), err)
}

// publish makes the state visible to lock-free readers.
func (m *Machine) publish() {
	m.observed.Store(m.state.observed)
	rare, sequences := m.state.revision != m.published, m.state.sequenceRevision != m.sequences
	m.published, m.sequences = m.state.revision, m.state.sequenceRevision
	if sequences {
		m.revision.Add(1)
	}
	if m.tokened != m.state.tokenRevision {
		m.tokened = m.state.tokenRevision
		now := m.state.tokens
		m.tokens.Store(&now)
		m.tokenRevision.Add(1)
	}
	if rare {
		layouts := make(map[string]*snowflake.Layout, len(m.state.layouts))
		for name, l := range m.state.layouts {
			layouts[name] = l.layout
		}
		m.layouts.Store(&layouts)
		m.config.Store(m.state.Config())
		m.restored.Store(m.state.restored)
		m.sealed.Store(m.state.sealed)
	}
	if rare || sequences {
		close(m.changed)
		m.changed = make(chan struct{})
	}
	m.reach(m.state.index) // last, so that a caller that awaited the index sees all of the above
}

// install replaces the state and publishes all of it.
func (m *Machine) install(s *State) {
	m.state, m.published, m.sequences, m.tokened = s, neverPublished, neverPublished, neverPublished
	m.publish()
}

// neverPublished is a revision that no state has.
const neverPublished = math.MaxUint64

// Sequence returns the sequence with that name. It takes the lock for reading and
// builds the specification on each call, so callers keep the result until
// [Machine.SequenceRevision] grows.
func (m *Machine) Sequence(name string) (Sequence, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state.Sequence(name)
}

// SequenceStamp returns the numbering and the period of a sequence; a block with
// earlier ones is outdated. It takes the lock for reading and allocates no memory.
func (m *Machine) SequenceStamp(name string) (numbering uint64, period int32, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q, ok := m.state.sequences.live.Get(name)
	if !ok {
		return 0, 0, false
	}
	return q.numbering, q.period, true
}

// SequenceRevision returns a number that grows when some sequence was created,
// updated, resumed, deleted or began a period, and when a snapshot was restored.
// Callers must not change it; every issue of numbers reads it without a lock. While
// it is the same, Sequence and SequenceStamp return the same generations and
// periods. A reader that has read a new value then reads the new state.
func (m *Machine) SequenceRevision() *atomic.Uint64 { return &m.revision }

// TokenRevision returns a number that grows when an API token or the record of anonymous callers was changed, and
// when a snapshot was restored. It takes no lock, because each call compares it with the revision at which the caller
// was judged. A reader that has read a new value then reads the new tokens.
func (m *Machine) TokenRevision() uint64 { return m.tokenRevision.Load() }

// Token returns the API token with that ID; no token has the ID 0. It takes no lock.
func (m *Machine) Token(id uint64) (*TokenRecord, bool) {
	r, _, ok := m.tokens.Load().find(id)
	return r, ok && id != 0
}

// Anonymous returns the record of callers without a token. It takes no lock.
func (m *Machine) Anonymous() *TokenRecord { return m.tokens.Load().anonymous }

// TokenCount returns the number of tokens, without the anonymous record. It takes no lock.
func (m *Machine) TokenCount() int { return len(m.tokens.Load().byID) }

// TokenNames returns the names of the oldest tokens, oldest first, limited to most, without the anonymous record. It
// takes no lock.
func (m *Machine) TokenNames(most int) (names []string) {
	byID := m.tokens.Load().byID
	for _, r := range byID[:min(most, len(byID))] {
		names = append(names, r.Name)
	}
	return names
}

// NextTokenExpiry returns the earliest time after from at which a token expires, both in Unix ms; 0 if none does. Tokens that a
// restore disabled do not count, nor those with a life of at most brief ms. It takes no lock.
func (m *Machine) NextTokenExpiry(from, brief int64) (next int64) {
	for _, r := range m.tokens.Load().byID {
		at := r.ExpiresAtMillis
		if !r.Disabled && at > from && at-r.CreatedMillis > brief && (next == 0 || at < next) {
			next = at
		}
	}
	return next
}
