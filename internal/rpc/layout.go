package rpc

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// Layout is a layout as the API has it, without its end.
func Layout(spec snowflake.Spec) *snowraftv1.Layout {
	l := &snowraftv1.Layout{
		Name: spec.Name, UnitMs: spec.UnitMillis, EpochMs: spec.EpochMillis,
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
