package member

import (
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/snowflake"
)

// The window of an earlier start is not continued: before this member's replica shows it, the worker may be released
// and belong to another holder.
func TestRestartAcquiresAWindowOfItsOwn(t *testing.T) {
	m := openOne(t)
	acquire := func(start byte) allocator.Grant {
		g, err := leaderGranter{m}.AcquireWorker(t.Context(), allocator.AcquireRequest{
			Layout: snowflake.Default().Name(), Holder: "restarted", Nonce: allocator.Nonce{start},
			NowMillis: m.clock.Now().Wall, Window: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	before, after := acquire(1), acquire(2)
	if after.Token == before.Token || after.Worker == before.Worker && after.From < before.Until {
		t.Errorf("granted %+v after %+v, want another window", after, before)
	}
}
