package fsm

import (
	"slices"

	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The fields of leases, which a walk draws if the world has leases.

// leaseSpec has as many workers as the layout "long", all of them for applications too.
var leaseSpec = snowflake.Spec{Name: "only", UnitMillis: modelUnit, EpochMillis: modelEpoch, LeaseOnly: true, Fields: []snowflake.FieldBits{
	{Field: snowflake.FieldWorker, Bits: 2}, {Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldSequence, Bits: 1},
}}

// newLeaseWorld returns a world in which all processes acquire workers as those of leases do.
func newLeaseWorld(s source, a adversary, replicas int) *world {
	w := newWorld(s, a, replicas)
	w.leases = true
	w.audit = newAudit(w.specs())
	return w
}

// specs returns the layouts.
func (w *world) specs() []snowflake.Spec {
	if w.leases {
		return append(slices.Clip(modelSpecs), leaseSpec)
	}
	return modelSpecs
}

// describe draws the range of wanted workers and the process.
func (w *world) describe(c *commandv1.AcquireWorker) {
	c.Below = []uint64{0, 0, 1, 2, 3, 9}[w.choose("below", 6)]
	texts := w.choose("process", 16)
	if texts == 0 {
		return
	}
	c.Process = &commandv1.HolderProcess{}
	for i, field := range []*string{&c.Process.Host, &c.Process.ProcessId, &c.Process.Kind, &c.Process.Version} {
		if texts>>i&1 != 0 {
			*field = []string{"one", "two"}[w.choose("text", 2)]
		}
	}
}

// share draws the percentage of the workers that a token gets; 0 means the default.
func (w *world) share() int32 { return []int32{0, 1, 34, 75, 100}[w.choose("share", 5)] }
