package client_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/snowflake"
)

func TestLayoutsAreManaged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		cl := startNumberCluster(t, 1).client()
		spec := snowflake.Spec{
			Name: "small", UnitMillis: 10, EpochMillis: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Datacenter: 3, Spread: 4,
			Fields: []snowflake.FieldBits{
				{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldDatacenter, Bits: 2},
				{Field: snowflake.FieldWorker, Bits: 6}, {Field: snowflake.FieldSequence, Bits: 8},
			},
		}
		for range 2 { // the second call returns the existing layout
			created, err := cl.CreateLayout(t.Context(), spec)
			if err != nil || !reflect.DeepEqual(created.Spec(), spec) {
				t.Fatalf("created %+v, %v", created, err)
			}
		}
		other := spec
		other.Spread = 0
		if _, err := cl.CreateLayout(t.Context(), other); !errors.Is(err, client.ErrLayoutExists) {
			t.Errorf("another layout of that name: %v", err)
		}
		if _, err := cl.CreateLayout(t.Context(), snowflake.Spec{Name: "empty"}); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("a layout without fields: %v", err)
		}
		if got, err := cl.GetLayout(t.Context(), "small"); err != nil || !reflect.DeepEqual(got.Spec(), spec) {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := cl.GetLayout(t.Context(), "none"); !errors.Is(err, client.ErrUnknownLayout) {
			t.Errorf("a layout that does not exist: %v", err)
		}
		var names []string
		for l, err := range cl.ListLayouts(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, l.Name())
		}
		if !reflect.DeepEqual(names, []string{"default", "small"}) {
			t.Errorf("listed %v", names)
		}
		if _, err := cl.IDs("small").Next(t.Context()); err != nil {
			t.Errorf("an ID of the new layout: %v", err)
		}
	})
}
