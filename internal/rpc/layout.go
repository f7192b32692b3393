package rpc

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// Layout is a layout as the API has it, without its end.
func Layout(spec snowflake.Spec) *snowraftv1.Layout {
	l := &snowraftv1.Layout{
		Name: spec.Name, UnitMs: spec.UnitMillis, EpochAtMs: spec.EpochMillis,
		Datacenter: spec.Datacenter, Spread: spec.Spread,
	}
	for _, f := range spec.Fields {
		l.Fields = append(l.Fields, &snowraftv1.Field{
			// The kinds have the same order; the tests of cmd/snowraft hold them to it.
			Kind: snowraftv1.FieldKind(f.Field), Bits: uint32(f.Bits),
		})
	}
	return l
}

// Spec returns the specification in a layout of the API. Of a field that the API does not have, or with too
// many bits, it makes one that [snowflake.New] refuses.
func Spec(l *snowraftv1.Layout) snowflake.Spec {
	spec := snowflake.Spec{
		Name: l.GetName(), UnitMillis: l.GetUnitMs(), EpochMillis: l.GetEpochAtMs(),
		Datacenter: l.GetDatacenter(), Spread: l.GetSpread(),
	}
	for _, f := range l.GetFields() {
		field := snowflake.Field(min(max(f.GetKind(), 0), 255))
		spec.Fields = append(spec.Fields, snowflake.FieldBits{Field: field, Bits: uint8(min(f.GetBits(), 255))})
	}
	return spec
}
