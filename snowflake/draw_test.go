package snowflake_test

import (
	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/snowflake"
)

// drawLayout draws any valid layout: any fields in any order and with any width.
func drawLayout(t *rapid.T) *snowflake.Layout {
	order := rapid.Permutation([]snowflake.Field{
		snowflake.FieldTime, snowflake.FieldDatacenter, snowflake.FieldWorker, snowflake.FieldSequence,
	}).Draw(t, "order")
	spec := snowflake.Spec{
		Name:        "drawn",
		UnitMillis:  rapid.Int64Range(1, 3_600_000).Draw(t, "unit"),
		EpochMillis: rapid.Int64().Draw(t, "epoch"),
	}
	left := 64
	reserve := 1 // keeps a bit for time until time has its width
	for _, field := range order {
		least := 0
		if field == snowflake.FieldTime {
			least, reserve = 1, 0
		}
		width := uint8(rapid.IntRange(least, min(63, left-reserve)).Draw(t, field.String()))
		if width == 0 {
			continue
		}
		left -= int(width)
		spec.Fields = append(spec.Fields, snowflake.FieldBits{Field: field, Bits: width})
		switch field {
		case snowflake.FieldDatacenter:
			spec.Datacenter = rapid.Uint64Max(1<<width-1).Draw(t, "fixed datacenter")
		case snowflake.FieldSequence:
			spec.Spread = rapid.Uint64Max(1<<width).Draw(t, "spread")
		}
	}
	l, err := snowflake.New(spec)
	if err != nil {
		t.Fatalf("New(%+v): %v", spec, err)
	}
	return l
}

func drawParts(t *rapid.T, l *snowflake.Layout, label string) snowflake.Parts {
	var p snowflake.Parts
	for _, f := range l.Spec().Fields {
		value := rapid.Uint64Max(1<<f.Bits-1).Draw(t, label+" "+f.Field.String())
		switch f.Field {
		case snowflake.FieldTime:
			p.Tick = int64(value)
		case snowflake.FieldDatacenter:
			p.Datacenter = value
		case snowflake.FieldWorker:
			p.Worker = value
		case snowflake.FieldSequence:
			p.Sequence = value
		}
	}
	return p
}

func valueOf(p snowflake.Parts, f snowflake.Field) uint64 {
	return map[snowflake.Field]uint64{
		snowflake.FieldTime: uint64(p.Tick), snowflake.FieldDatacenter: p.Datacenter,
		snowflake.FieldWorker: p.Worker, snowflake.FieldSequence: p.Sequence,
	}[f]
}
