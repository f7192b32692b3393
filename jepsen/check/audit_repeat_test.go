package check

import (
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// Only a repetition of the last extension gets the present window again.
func TestAuditRepeatedExtension(t *testing.T) {
	t.Parallel()
	refused := fsm.Result{Err: &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_WINDOW_MISMATCH}}
	granted := func(until int64) fsm.Result { return fsm.Result{Grant: fsm.Grant{Token: 2, From: 10, Until: until}} }
	for name, c := range map[string]struct {
		id     uint64
		until  int64
		result fsm.Result
		want   string
	}{
		"answered":                      {7, 110, granted(160), ""},
		"refused":                       {7, 110, refused, "expected ticks 10 to 160"},
		"answered with more":            {7, 110, granted(170), "expected ticks 10 to 160"},
		"of a copy":                     {8, 110, granted(160), "which is not the present window"},
		"of a copy, refused":            {8, 110, refused, ""},
		"with another end":              {7, 120, granted(160), "which is not the present window"},
		"with the present end":          {7, 160, granted(200), ""},
		"with the present end, refused": {7, 160, refused, "which is the present window"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVerdict("x")
			a, index := newAudit(v), uint64(0)
			add := func(at int64, cmd *commandv1.Command, result fsm.Result) {
				index++
				cmd.ClockAtMs = worldEpoch + at*worldSpec.UnitMillis
				a.take(&raftlog.Applied{Entry: raftlog.Entry{Index: index, Term: 1}, Command: cmd, Result: result})
			}
			extend := func(id uint64, until int64) *commandv1.Command {
				return &commandv1.Command{Body: &commandv1.Command_ExtendWindow{ExtendWindow: &commandv1.ExtendWindow{
					Layout: "tiny", Token: 2, NonceHash: worldNonce(1), UntilTick: until, WindowMs: 1000, ExtensionId: id,
				}}}
			}
			add(0, &commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{Spec: fsm.LayoutSpec(worldSpec)}}}, fsm.Result{})
			add(10, &commandv1.Command{Body: &commandv1.Command_AcquireWorker{AcquireWorker: &commandv1.AcquireWorker{
				Layout: "tiny", Holder: "n1/0", NonceHash: worldNonce(1), WindowMs: 1000,
			}}}, granted(110))
			add(60, extend(7, 110), granted(160))
			add(100, extend(c.id, c.until), c.result)
			got := strings.Join(v.Failures, "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("failures %q, want %q", got, c.want)
			}
		})
	}
}
