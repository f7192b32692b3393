package fsm

import (
	"errors"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// maxLayouts is the greatest number of layouts of a cluster; they are never deleted.
const maxLayouts = 1000

// layout is a layout with all its workers and remembered grants.
type layout struct {
	name    string
	layout  *snowflake.Layout
	created int64 // Unix ms
	ticks   int64 // ticks are [0, ticks); fits, since a layout that issues has at most 63 bits
	workers workers
	history history
	past    *past // nil: none
}

func newLayout(l *snowflake.Layout, created int64) *layout {
	spec := l.Spec()
	return &layout{
		name:    spec.Name,
		layout:  l,
		created: created,
		ticks:   int64(l.Ticks()),
		workers: newWorkers(l.Workers(), spec.LeaseOnly),
	}
}

// endAfter returns the end of a window that covers millis, at least 1, from the Unix
// millisecond start on: the first tick that begins at start + millis or later, or the
// end of the time field if that is before.
//
// So a window ends less than one tick after start + millis, and its last tick contains
// start + millis - 1 or an earlier instant. The windows that were granted up to a
// proposer's now therefore have no tick after the tick of now plus the greatest maximum
// window in force up to then.
func (l *layout) endAfter(start, millis int64) int64 {
	return min(l.layout.TickAt(plus(start, millis-1)), l.ticks-1) + 1
}

// LayoutInfo is a layout and the number of its used workers.
type LayoutInfo struct {
	Layout        *snowflake.Layout
	CreatedMillis int64  // Unix ms on the creator's clock
	Used          uint64 // workers that were granted at least once
}

// Layouts returns all layouts, sorted by name.
func (s *State) Layouts() []LayoutInfo {
	infos := make([]LayoutInfo, 0, len(s.names))
	for _, name := range s.names {
		infos = append(infos, s.layouts[name].info())
	}
	return infos
}

// LayoutInfo returns the layout with that name.
func (s *State) LayoutInfo(name string) (LayoutInfo, bool) {
	l, ok := s.layouts[name]
	if !ok {
		return LayoutInfo{}, false
	}
	return l.info(), true
}

func (l *layout) info() LayoutInfo {
	return LayoutInfo{Layout: l.layout, CreatedMillis: l.created, Used: uint64(l.workers.count())}
}

func (s *State) layoutNamed(name string) (*layout, *Refused) {
	if l, ok := s.layouts[name]; ok {
		return l, nil
	}
	return nil, refuse(commandv1.Refusal_REFUSAL_UNKNOWN_LAYOUT, "layout %.64q does not exist; create it first", name)
}

// addLayout adds a layout whose name is new.
func (s *State) addLayout(l *layout) {
	s.layouts[l.name] = l
	at, _ := slices.BinarySearch(s.names, l.name)
	s.names = slices.Insert(s.names, at, l.name)
	s.revision++
}

// createLayout adds a layout. Repeating it with an identical specification changes
// nothing and succeeds.
func (s *State) createLayout(e entry) Result {
	made, err := specToLayout(e.cmd.GetCreateLayout().GetSpec())
	if err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if existing, ok := s.layouts[made.Name()]; ok {
		if is, asked := LayoutSpec(existing.layout.Spec()), LayoutSpec(made.Spec()); !proto.Equal(is, asked) {
			return Result{Err: refuse(commandv1.Refusal_REFUSAL_LAYOUT_EXISTS,
				"layout %q exists with another %s, and layouts never change; choose another name", made.Name(), differing(is, asked))}
		}
		return Result{Layout: existing.layout}
	}
	if len(s.names) > 0 { // a new cluster gets its first layout in any case
		if refused := s.openNames("layout", made.Name()); refused != nil {
			return Result{Err: refused}
		}
	}
	switch err := made.CanLease(e.now); {
	case errors.Is(err, snowflake.ErrExhausted):
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_TIME_EXHAUSTED, "%v", err)}
	case err != nil:
		return Result{Err: invalid("%v", err)}
	}
	if len(s.names) == maxLayouts {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_LIMIT_REACHED,
			"limit of %d layouts reached; use an existing layout", maxLayouts)}
	}
	l := newLayout(made, e.now)
	if made.Spec().Past {
		var refused *Refused
		if l.past, refused = s.newPast(l, e.now); refused != nil {
			return Result{Err: refused}
		}
	}
	s.addLayout(l)
	return Result{Layout: made}
}

func specToLayout(spec *commandv1.LayoutSpec) (*snowflake.Layout, error) {
	fields := make([]snowflake.FieldBits, 0, 4)
	for _, f := range spec.GetFields() {
		fields = append(fields, snowflake.FieldBits{
			Field: snowflake.Field(min(max(f.GetKind(), 0), math.MaxUint8)), // snowflake refuses an unknown field
			Bits:  uint8(min(f.GetBits(), math.MaxUint8)),                   // and a width that big
		})
	}
	return snowflake.New(snowflake.Spec{
		Name:        spec.GetName(),
		Fields:      fields,
		UnitMillis:  spec.GetUnitMs(),
		EpochMillis: spec.GetEpochAtMs(),
		Datacenter:  spec.GetDatacenter(),
		Spread:      spec.GetSpread(),
		LeaseOnly:   spec.GetLeaseOnly(),
		Past:        spec.GetPast(),
	})
}

// LayoutSpec returns the form of a layout in commands and snapshots. A snowflake.Field and
// the commandv1.FieldKind of that field have the same number.
func LayoutSpec(spec snowflake.Spec) *commandv1.LayoutSpec {
	fields := make([]*commandv1.Field, 0, len(spec.Fields))
	for _, f := range spec.Fields {
		fields = append(fields, &commandv1.Field{Kind: commandv1.FieldKind(f.Field), Bits: uint32(f.Bits)})
	}
	return &commandv1.LayoutSpec{
		Name:       spec.Name,
		Fields:     fields,
		UnitMs:     spec.UnitMillis,
		EpochAtMs:  spec.EpochMillis,
		Datacenter: spec.Datacenter,
		Spread:     spec.Spread,
		LeaseOnly:  spec.LeaseOnly,
		Past:       spec.Past,
	}
}
