package fsm

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Options are the options of a [Machine]. The zero Options are good.
type Options struct {
	// Supported is the newest fsm_version to accept; 0 means [Version].
	Supported uint32

	// Halt, if set, is called once, when the machine met something that it must not
	// skip: an entry that is damaged or unknown, a newer version, a state that differs
	// from the leader's. The error wraps [ErrHalted] and says what to do. It is called
	// from Apply, on raft's goroutine, with no lock held.
	Halt func(error)
}

// Machine is the raft.FSM over a [State]: it decodes log entries, guards the state
// for readers on other goroutines, publishes what every issue looks at without a
// lock, and halts rather than skip an entry.
type Machine struct {
	options Options

	// Read without mu; written with it.
	observed atomic.Int64
	config   atomic.Pointer[commandv1.Config]
	layouts  atomic.Pointer[map[string]*snowflake.Layout] // the map is never changed, only replaced
	applied  atomic.Uint64
	revision atomic.Uint64 // of the sequences, see SequenceRevision
	tokens   atomic.Pointer[tokens]
	restored atomic.Pointer[commandv1.Restored]

	tokenRevision atomic.Uint64 // of the tokens, see TokenRevision

	mu        sync.RWMutex
	state     *State
	halted    error         // not nil: nothing changes anymore
	changed   chan struct{} // closed when config, layouts, version or a sequence changed
	published uint64        // the state's revision that was published last
	sequences uint64        // and its sequenceRevision
	tokened   uint64        // and its tokenRevision
	term      uint64        // of the last command; 0 before one
	waiters   []waiter      // for an index to be applied
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
// observation. It is to be read only, without a lock, on every issue.
func (m *Machine) Observed() *atomic.Int64 { return &m.observed }

// ConfigValue returns the current configuration, the default one until it was set.
// It must not be changed.
func (m *Machine) ConfigValue() *commandv1.Config { return m.config.Load() }

// Restored returns how the cluster was restored, nil if it was not. It takes no lock, and must not be changed.
func (m *Machine) Restored() *commandv1.Restored { return m.restored.Load() }

// Layout returns the layout of that name.
func (m *Machine) Layout(name string) (*snowflake.Layout, bool) {
	l, ok := (*m.layouts.Load())[name]
	return l, ok
}

// View calls read with the state, which must not be used after read returned. No
// command is applied meanwhile, so read must be quick and must not call the Machine.
func (m *Machine) View(read func(*State)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	read(m.state)
}

// Changed returns a channel that is closed when config, layouts, fsm_version or a
// sequence change the next time. Blocks of a sequence are no change, a new period is.
// Take it before reading them.
func (m *Machine) Changed() <-chan struct{} {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.changed
}

// Apply applies a log entry and returns its [Result]. Entries that are no commands
// are not its business. Once halted, it changes nothing anymore.
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

// apply is Apply with the lock held. halting reports whether it halted just now.
func (m *Machine) apply(log *raft.Log) (result Result, halting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted != nil {
		return halted(m.halted), false
	}
	cmd, err := decodeFor(log, m.options.Supported)
	if err != nil {
		result = halted(err)
	} else {
		result = m.state.Apply(log.Index, log.Term, cmd)
	}
	if result.Halted != nil {
		m.halt(result.Halted)
		return result, true
	}
	m.term = log.Term
	m.publish()
	if cmd.GetCheckpoint() != nil {
		go m.state.lastCheckpoint.digest() // it will be requested, with locks held
	}
	return result, false
}

// decodeFor returns the command of a log entry, if it is one that a build that
// supports that fsm_version can apply; the error is one to halt with.
func decodeFor(log *raft.Log, supported uint32) (*commandv1.Command, error) {
	cmd, err := Decode(log.Data)
	if err != nil {
		return nil, haltAt(log.Index, adviceFor(err), err)
	}
	if need := max(cmd.GetVersion(), MinVersion(cmd), cmd.GetRaiseVersion().GetVersion()); need > supported {
		return nil, &NewerError{Used: need, Known: supported}
	}
	return cmd, nil
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
	}
	if rare || sequences {
		close(m.changed)
		m.changed = make(chan struct{})
	}
	m.reach(m.state.index) // last: a caller that awaited the index sees all of the above
}

// install replaces the state and publishes all of it.
func (m *Machine) install(s *State) {
	m.state, m.published, m.sequences, m.tokened = s, neverPublished, neverPublished, neverPublished
	m.publish()
}

// neverPublished is a revision that no state has.
const neverPublished = math.MaxUint64
