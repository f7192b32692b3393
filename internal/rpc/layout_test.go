package rpc_test

import (
	"testing"

	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// Layout requires this order.
func TestFieldKindsAreInTheSameOrder(t *testing.T) {
	t.Parallel()
	for _, field := range []snowflake.Field{snowflake.FieldTime, snowflake.FieldDatacenter, snowflake.FieldWorker, snowflake.FieldSequence} {
		if kind := apijson.Word(snowraftv1.FieldKind(field)); kind != field.String() {
			t.Errorf("%v is the kind %s", field, kind)
		}
	}
}
