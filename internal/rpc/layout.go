package rpc

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// Layout returns a layout in the form of the API, without the time of its end.
func Layout(spec snowflake.Spec) *snowraftv1.Layout {
	l := &snowraftv1.Layout{
		Name: spec.Name, UnitMs: spec.UnitMillis, EpochAtMs: spec.EpochMillis,
		Datacenter: spec.Datacenter, Spread: spec.Spread, LeaseOnly: spec.LeaseOnly, Past: spec.Past,
	}
	for _, f := range spec.Fields {
		l.Fields = append(l.Fields, &snowraftv1.Field{
			// The kinds have the same order; a test checks that.
			Kind: snowraftv1.FieldKind(f.Field), Bits: uint32(f.Bits),
		})
	}
	return l
}

// Spec returns the specification of a layout of the API. It converts an unknown field, or a field with too
// many bits, to a field that [snowflake.New] refuses.
func Spec(l *snowraftv1.Layout) snowflake.Spec {
	spec := snowflake.Spec{
		Name: l.GetName(), UnitMillis: l.GetUnitMs(), EpochMillis: l.GetEpochAtMs(),
		Datacenter: l.GetDatacenter(), Spread: l.GetSpread(), LeaseOnly: l.GetLeaseOnly(), Past: l.GetPast(),
	}
	for _, f := range l.GetFields() {
		field := snowflake.Field(min(max(f.GetKind(), 0), 255))
		spec.Fields = append(spec.Fields, snowflake.FieldBits{Field: field, Bits: uint8(min(f.GetBits(), 255))})
	}
	return spec
}
