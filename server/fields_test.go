package server_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// whole is the sequence of calls at one place that sets every field of every request.
type whole struct {
	visit
	sequence *snowraftv1.Sequence // answer to the last change
	block    *snowraftv1.Block
	config   *snowraftv1.Config
	record   *snowraftv1.Token
	template *snowraftv1.Template
	position int64 // position of the backfill job 1
	reserved []*snowraftv1.Reservation
}

// note keeps what later calls refer to.
func (v *whole) note(reply proto.Message) {
	switch r := reply.(type) {
	case interface{ GetSequence() *snowraftv1.Sequence }:
		v.sequence = r.GetSequence()
	case interface{ GetBlock() *snowraftv1.Block }:
		v.block = r.GetBlock()
	case interface{ GetGrant() *snowraftv1.Grant }:
		v.worker = r.GetGrant()
	case interface{ GetConfig() *snowraftv1.Config }:
		v.config = r.GetConfig()
	case interface{ GetTemplate() *snowraftv1.Template }:
		v.template = r.GetTemplate()
	case *snowraftv1.BackfillIdsResponse:
		v.position = r.GetPosition()
	case interface {
		GetReservations() []*snowraftv1.Reservation
	}:
		v.reserved = r.GetReservations()
	case interface{ GetToken() *snowraftv1.Token }:
		v.record = r.GetToken()
	}
}

// spec returns a sequence with every field that a caller can set. Its texts repeat each month.
func (v *whole) spec() *snowraftv1.Sequence {
	return &snowraftv1.Sequence{
		Name: v.name, Start: new(int64(5)), Increment: new(int64(2)), Min: new(int64(1)), Max: new(int64(9001)),
		Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, BlockDurationMs: 3000, MinBlock: 7, MaxBlock: 70,
		Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_MONTHLY, TimeZone: "Europe/Rome", Format: "A{seq:06}", Description: "first",
		YearStarts: "04-01", LateMs: 45 * 24 * 3600 * 1000,
	}
}

// settings returns spec without a name, for a template.
func (v *whole) settings() *snowraftv1.Sequence {
	s := v.spec()
	s.Name = ""
	return s
}

// wholes holds the calls in their order. A command of each must reach the log, equal for all places.
var wholes = []struct {
	method  string
	refused bool // the state machine refuses the command
	request func(v *whole) proto.Message
}{
	{snowraftv1.SequenceService_CreateSequence_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.CreateSequenceRequest{Sequence: v.spec(), Force: true, ForceFormat: true}
	}},
	{snowraftv1.SequenceService_UpdateSequence_FullMethodName, false, func(v *whole) proto.Message {
		s := v.spec()
		s.Start, s.Min, s.Max, s.Format, s.Description = new(int64(3)), new(int64(3)), new(int64(8001)), "B{seq:06}", "second"
		s.BlockDurationMs, s.MinBlock, s.MaxBlock, s.TimeZone = 4000, 8, 80, "Asia/Tokyo"
		s.YearStarts, s.LateMs = "07-01", 60*24*3600*1000
		return &snowraftv1.UpdateSequenceRequest{Sequence: s, Force: true, ForceFormat: true, ExpectedGeneration: &v.sequence.Generation}
	}},
	{snowraftv1.SequenceService_UpdateSequence_FullMethodName, false, func(v *whole) proto.Message {
		s := v.spec()
		s.MaxBlock, s.Description = 90, "not in the mask"
		return &snowraftv1.UpdateSequenceRequest{Sequence: s, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"max_block"}}}
	}},
	{snowraftv1.SequenceService_SetNext_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.SetNextRequest{Sequence: v.name, Next: 501, Force: true, ExpectedGeneration: &v.sequence.Generation}
	}},
	{snowraftv1.SequenceService_AllocateBlock_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.AllocateBlockRequest{Sequence: v.name, Count: 4, ReturnKey: make([]byte, 16)}
	}},
	{snowraftv1.SequenceService_ReturnBlock_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ReturnBlockRequest{Sequence: v.name, Token: v.block.GetToken(), Unused: 2, ReturnKey: make([]byte, 16)}
	}},
	{snowraftv1.SequenceService_AllocateBlock_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.AllocateBlockRequest{Sequence: v.name, Count: 3, RequestId: "block"}
	}},
	{snowraftv1.SequenceService_NextNumbers_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.NextNumbersRequest{Sequence: v.name, Count: 2, RequestId: "next"}
	}},
	{snowraftv1.SequenceService_NextNumbers_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.NextNumbersRequest{Sequence: v.name, Count: 2, RequestId: "late", Period: "2026-06", From: new(int64(9))}
	}},
	{snowraftv1.SequenceService_ResumeSequence_FullMethodName, true, func(v *whole) proto.Message { // the period is not closed
		return &snowraftv1.ResumeSequenceRequest{Sequence: v.name, After: new(int64(77)), Period: "2026-06", ExpectedGeneration: &v.sequence.Generation}
	}},
	{snowraftv1.SequenceService_ResumeSequence_FullMethodName, true, func(v *whole) proto.Message { // the sequence is not frozen
		return &snowraftv1.ResumeSequenceRequest{Sequence: v.name, After: new(int64(77)), Margin: 11, Formats: []string{"Z{seq}"}, ForceFormat: true, ExpectedGeneration: &v.sequence.Generation}
	}},
	{snowraftv1.SequenceService_ResumeSequence_FullMethodName, true, func(v *whole) proto.Message { // the cluster was not restored
		return &snowraftv1.ResumeSequenceRequest{Sequence: v.name, FormatsKept: true}
	}},
	{snowraftv1.SequenceService_MoveSequence_FullMethodName, true, func(v *whole) proto.Message { // the sequence has a reset
		return &snowraftv1.MoveSequenceRequest{Sequence: v.name, ExpectedGeneration: &v.sequence.Generation}
	}},
	{snowraftv1.SequenceService_DeleteSequence_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.DeleteSequenceRequest{Name: v.name, ExpectedGeneration: &v.sequence.Generation}
	}},
	{snowraftv1.SequenceService_CreateSequence_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: v.name + "-demanded"}, OnDemand: true}
	}},
	{snowraftv1.SequenceService_CreateSequence_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: v.name + "-codes", Max: new(int64(999_999)), Format: "{code:digits:6}"}}
	}},
	{snowraftv1.TemplateService_CreateTemplate_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.CreateTemplateRequest{ForceFormat: true, Template: &snowraftv1.Template{Pattern: v.name + "/*", Settings: v.settings(), Quota: 5}}
	}},
	{snowraftv1.SequenceService_BeginSequence_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.BeginSequenceRequest{Name: v.name + "/1"}
	}},
	{snowraftv1.TemplateService_UpdateTemplate_FullMethodName, false, func(v *whole) proto.Message {
		s := v.settings()
		s.Start, s.Format = new(int64(3)), "C{seq:06}"
		return &snowraftv1.UpdateTemplateRequest{ForceFormat: true, ExpectedGeneration: &v.template.Generation,
			Template: &snowraftv1.Template{Pattern: v.name + "/*", Settings: s, Quota: 6}}
	}},
	{snowraftv1.TemplateService_UpdateTemplate_FullMethodName, false, func(v *whole) proto.Message {
		s := v.settings()
		s.MaxBlock, s.Description = 90, "not in the mask"
		return &snowraftv1.UpdateTemplateRequest{UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"settings.max_block"}},
			Template: &snowraftv1.Template{Pattern: v.name + "/*", Settings: s, Quota: 7}}
	}},
	{snowraftv1.TemplateService_ApplyTemplate_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ApplyTemplateRequest{Pattern: v.name + "/*", PageSize: 10, PageToken: "a", Force: true, ForceFormat: true, ExpectedGeneration: &v.template.Generation}
	}},
	{snowraftv1.TemplateService_ResumeTemplate_FullMethodName, true, func(v *whole) proto.Message { // the template is not suspended
		return &snowraftv1.ResumeTemplateRequest{Pattern: v.name + "/*", Start: 77, ExpectedGeneration: &v.template.Generation}
	}},
	{snowraftv1.TemplateService_DeleteTemplate_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.DeleteTemplateRequest{Pattern: v.name + "/*", ExpectedGeneration: &v.template.Generation}
	}},
	{snowraftv1.LayoutService_CreateLayout_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(snowflake.Spec{
			Name: v.name, UnitMillis: 20, EpochMillis: 1_700_000_000_000, Datacenter: 3, Spread: 2, LeaseOnly: true, Fields: []snowflake.FieldBits{
				{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldDatacenter, Bits: 3}, {Field: snowflake.FieldWorker, Bits: 6}, {Field: snowflake.FieldSequence, Bits: 4},
			},
		})}
	}},
	{snowraftv1.LayoutService_CreateLayout_FullMethodName, false, func(v *whole) proto.Message {
		spec := snowflake.Default().Spec()
		spec.Name, spec.EpochMillis, spec.Past = v.name+"-past", 1_700_000_000_000, true
		return &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(spec)}
	}},
	{snowraftv1.BackfillService_StartBackfill_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.StartBackfillRequest{Layout: v.name + "-past", Holder: "first"}
	}},
	{snowraftv1.BackfillService_StartBackfill_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.StartBackfillRequest{Layout: v.name + "-past", Holder: "second"}
	}},
	{snowraftv1.BackfillService_BackfillIds_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.BackfillIdsRequest{Layout: v.name + "-past", Job: 1, TimesMs: []int64{1_700_000_000_005}, RequestId: "a"}
	}},
	{snowraftv1.BackfillService_BackfillIds_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.BackfillIdsRequest{
			Layout: v.name + "-past", Job: 1, Position: v.position, TimesMs: []int64{1_700_000_000_009}, WithinMs: 7, RequestId: "b",
		}
	}},
	{snowraftv1.BackfillService_EndBackfill_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.EndBackfillRequest{Layout: v.name + "-past", Job: 1}
	}},
	{snowraftv1.BackfillService_ResumeBackfills_FullMethodName, true, func(v *whole) proto.Message {
		return &snowraftv1.ResumeBackfillsRequest{Layout: v.name + "-past", After: new(uint64(7))}
	}},
	{snowraftv1.WorkerService_AcquireWorker_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.AcquireWorkerRequest{
			Layout: v.name, Holder: "holder", Nonce: make([]byte, 16), WindowMs: 5000, ClockAtMs: time.Now().UnixMilli(), Below: 9,
			Process: &snowraftv1.HolderProcess{Host: "web-1", ProcessId: "812", Kind: "worker run", Version: "1.4.0"},
		}
	}},
	{snowraftv1.WorkerService_ExtendWindow_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ExtendWindowRequest{Layout: v.name, Worker: v.worker.GetWorker(), Token: v.worker.GetToken(), Nonce: make([]byte, 16),
			UntilTick: v.worker.GetUntilTick(), WindowMs: 6000, ClockAtMs: time.Now().UnixMilli(), ExtensionId: 17}
	}},
	{snowraftv1.WorkerService_AcquireWorker_FullMethodName, false, func(v *whole) proto.Message { // the second worker, which is not 0
		return &snowraftv1.AcquireWorkerRequest{Layout: v.name, Holder: "other", Nonce: make([]byte, 16), WindowMs: 5000, ClockAtMs: time.Now().UnixMilli()}
	}},
	{snowraftv1.WorkerService_ExtendWindow_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ExtendWindowRequest{Layout: v.name, Worker: v.worker.GetWorker(), Token: v.worker.GetToken(), Nonce: make([]byte, 16),
			UntilTick: v.worker.GetUntilTick(), WindowMs: 6000, ClockAtMs: time.Now().UnixMilli(), ExtensionId: 18}
	}},
	{snowraftv1.WorkerService_ReleaseWorker_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ReleaseWorkerRequest{Layout: v.name, Worker: v.worker.GetWorker(), Token: v.worker.GetToken(), Nonce: make([]byte, 16),
			UntilTick: v.worker.GetUntilTick(), NextTick: v.worker.GetUntilTick()}
	}},
	{snowraftv1.ClusterService_UpdateConfig_FullMethodName, false, func(v *whole) proto.Message {
		off, swap, manual := snowraftv1.AutoCreate_AUTO_CREATE_STRICT, snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP, snowraftv1.Upgrades_UPGRADES_MANUAL
		return &snowraftv1.UpdateConfigRequest{ExpectedGeneration: &v.config.Generation, Config: &snowraftv1.Config{
			MaxWindowMs: new(int64(60_000)), WaitThresholdMs: new(int64(900)), MaxClockOffsetMs: new(int64(400)), Rollback: &swap, RedisCreate: &off,
			Upgrades: &manual, TokenWorkersPercent: new(int32(75)),
		}}
	}},
	{snowraftv1.ClusterService_UpdateConfig_FullMethodName, false, func(*whole) proto.Message { // the default of the one, not the value of the other
		return &snowraftv1.UpdateConfigRequest{
			Config: &snowraftv1.Config{WaitThresholdMs: new(int64(1))}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"max_window_ms"}},
		}
	}},
	{snowraftv1.ClusterService_ResetObservedClock_FullMethodName, false, func(*whole) proto.Message { return &snowraftv1.ResetObservedClockRequest{} }},
	{snowraftv1.OperationsService_AcknowledgeRestore_FullMethodName, true, func(*whole) proto.Message { return &snowraftv1.AcknowledgeRestoreRequest{} }},
	{snowraftv1.TokenService_CreateToken_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{
			Name: v.name, Scopes: []string{"ids:issue:*", "seq:next:a"}, ExpiresAtMs: 4_000_000_000_000, Rate: 6, Burst: 8, Sequences: 10,
		}}
	}},
	{snowraftv1.TokenService_UpdateToken_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.UpdateTokenRequest{Token: v.name, ExpectedGeneration: &v.record.Generation, Changes: &snowraftv1.Token{
			Scopes: []string{"ids:issue:*"}, ExpiresAtMs: 4_000_000_000_001, Rate: 7, Burst: 9, Sequences: 11,
		}}
	}},
	{snowraftv1.TokenService_UpdateToken_FullMethodName, false, func(v *whole) proto.Message { // enabled and without an expiry, but at the same rate
		return &snowraftv1.UpdateTokenRequest{
			Token: v.name, Changes: &snowraftv1.Token{Rate: 1}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"disabled", "expires_at_ms"}},
		}
	}},
	{snowraftv1.TokenService_DeleteToken_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.DeleteTokenRequest{Token: v.name, ExpectedGeneration: &v.record.Generation}
	}},
	{snowraftv1.SequenceService_CreateSequence_FullMethodName, false, func(v *whole) proto.Message {
		s := gapless(v.name + "-gapless")
		s.Reuse, s.LateMs = true, lateMillis
		return &snowraftv1.CreateSequenceRequest{Sequence: s}
	}},
	{snowraftv1.ReservationService_ReserveNumbers_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ReserveNumbersRequest{Sequence: v.name + "-gapless", Keys: []string{"k", "l"}, Period: "2026"}
	}},
	{snowraftv1.ReservationService_ConfirmNumbers_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.ConfirmNumbersRequest{Sequence: v.name + "-gapless", Claims: claimOf(v.reserved[0])}
	}},
	{snowraftv1.ReservationService_VoidNumbers_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.VoidNumbersRequest{Sequence: v.name + "-gapless", Claims: claimOf(v.reserved[1]), Reason: "canceled", NeverCommitted: true}
	}},
	{snowraftv1.ReservationService_TakeNumbers_FullMethodName, false, func(v *whole) proto.Message {
		return &snowraftv1.TakeNumbersRequest{Sequence: v.name + "-gapless", Number: 50, Count: 2, Period: v.reserved[0].GetPeriod(), Reason: "paper"}
	}},
	{snowraftv1.ReservationService_ResolveNumbers_FullMethodName, true, func(v *whole) proto.Message { // no number is unknown
		return &snowraftv1.ResolveNumbersRequest{
			Sequence: v.name + "-gapless", Number: 60, Count: 2, Period: v.reserved[0].GetPeriod(), Fate: snowraftv1.NumberFate_NUMBER_FATE_VOID, Reason: "lost",
		}
	}},
	{snowraftv1.ReservationService_ResolveNumbers_FullMethodName, true, func(v *whole) proto.Message {
		return &snowraftv1.ResolveNumbersRequest{Sequence: v.name + "-gapless", Number: 60, Fate: snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED}
	}},
}

// unset are the fields of requests that a caller cannot usefully set: those that only answers have, disabled, because only a
// restore disables a token, and dry_run, because a dry run proposes nothing.
var unset = []protoreflect.FullName{
	"snowraft.v1.ApplyTemplateRequest.dry_run", "snowraft.v1.Config.generation", "snowraft.v1.Layout.exhausts_at_ms",
	"snowraft.v1.Sequence.created_at_ms", "snowraft.v1.Sequence.deleted", "snowraft.v1.Sequence.ended_periods", "snowraft.v1.Sequence.formats_unknown", "snowraft.v1.Sequence.frozen", "snowraft.v1.Sequence.generation",
	"snowraft.v1.Sequence.last", "snowraft.v1.Sequence.last_at_most", "snowraft.v1.Sequence.moved", "snowraft.v1.Sequence.next",
	"snowraft.v1.Sequence.oldest_open_at_ms", "snowraft.v1.Sequence.open_reservations", "snowraft.v1.Sequence.period",
	"snowraft.v1.Sequence.remaining", "snowraft.v1.Sequence.template", "snowraft.v1.Sequence.unknown_numbers",
	"snowraft.v1.Template.created_at_ms", "snowraft.v1.Template.generation", "snowraft.v1.Template.resumed_start", "snowraft.v1.Template.sequences",
	"snowraft.v1.Template.suspended", "snowraft.v1.Token.begun",
	"snowraft.v1.Token.created_at_ms", "snowraft.v1.Token.disabled", "snowraft.v1.Token.generation", "snowraft.v1.Token.id",
}

// unproposed are the fields of commands that no request to a healthy cluster sets: a restore has the index and tokens to enable,
// members have the name, the state machine writes the generation, leaders return blocks of their term, and the first sequence with
// codes brings their secret.
var unproposed = []protoreflect.FullName{
	"command.v1.AcknowledgeRestore.index", "command.v1.Actor.name", "command.v1.Config.generation",
	"command.v1.CreateSequence.code_secret", "command.v1.CreateTemplate.code_secret",
	"command.v1.ReturnBlock.term",
	"command.v1.UpdateSequence.code_secret", "command.v1.UpdateTemplate.code_secret", "command.v1.UpdateToken.enable",
}

// volatile are fields of commands that differ between the places, and whether they are set counts.
var volatile = map[protoreflect.Name]bool{
	"clock_at_ms": true, "judged_at": true, "generation": true, "token": true, "until_tick": true, "next_tick": true, "hash": true, "id": true, "replaces": true,
	"template": true, "reservation": true,
}

// even makes the commands of all places equal.
func even(m protoreflect.Message, name string) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				even(v.List().Get(i).Message(), name)
			}
		case f.Message() != nil:
			even(v.Message(), name)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(strings.ReplaceAll(v.String(), name, "name")))
		case !volatile[f.Name()]:
		case f.Kind() == protoreflect.BytesKind:
			m.Set(f, protoreflect.ValueOfBytes([]byte{1}))
		case f.Kind() == protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(1))
		default:
			m.Set(f, protoreflect.ValueOfUint64(1))
		}
		return true
	})
}

// marks notes the fields of a message, and of its messages, and whether they were set.
func marks(set map[protoreflect.FullName]bool, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		set[f.FullName()] = set[f.FullName()] || m.Has(f)
		switch {
		case f.Message() == nil || f.ContainingOneof() != nil && !m.Has(f):
		case f.IsList():
			for j := range m.Get(f).List().Len() {
				marks(set, m.Get(f).List().Get(j).Message())
			}
		default:
			marks(set, m.Get(f).Message())
		}
	}
}

// unmarked returns the fields that were never set.
func unmarked(set map[protoreflect.FullName]bool) (names []protoreflect.FullName) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !set[name] && !strings.HasPrefix(string(name), "command.v1.Command.") && !strings.HasPrefix(string(name), "google.") {
			names = append(names, name)
		}
	}
	return names
}

// TestFieldsOfCommands calls every method that proposes a command with every field set, at the leader, a follower and a gateway. No
// field is lost on any of these ways.
func TestFieldsOfCommands(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		w := openTown(t, true, "ids:backfill:*", "seq:next:*", "seq:read:*", "seq:admin:*", "ids:issue:*", "worker:lease:*", "cluster:admin", "tokens:admin")
		until(t, "the observed clock, which decides on open periods, is known", func() bool { return w.leads.server.Member().State().Observed().Load() > 0 })
		create := snowraftv1.AutoCreate_AUTO_CREATE_STRICT
		requests, proposed := make(map[protoreflect.FullName]bool), make(map[protoreflect.FullName]bool)
		c := &clerk{leads: w.leads}
		for _, p := range w.places {
			v := &whole{visit: visit{place: p, by: w.callers[0], name: "at-" + p.name}}
			reply, err := v.call(snowraftv1.ClusterService_UpdateConfig_FullMethodName, &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{RedisCreate: &create}})
			if err != nil {
				t.Fatal(err)
			}
			v.note(reply)
			if p.name == "leader" { // brings the secret of all codes
				codes := &snowraftv1.Sequence{Name: "codes", Max: new(int64(999_999)), Format: "{code:digits:6}"}
				if _, err := v.call(snowraftv1.SequenceService_CreateSequence_FullMethodName, &snowraftv1.CreateSequenceRequest{Sequence: codes}); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range wholes {
				req := m.request(v)
				marks(requests, req.ProtoReflect())
				c.note(v.name, m.method, v.by, func() error {
					reply, err := v.call(m.method, req)
					if err == nil {
						v.note(reply)
					}
					if (err != nil) != m.refused {
						t.Errorf("%s at the %s: %v", m.method, p.name, err)
					}
					return nil
				})
			}
		}
		if got := unmarked(requests); !slices.Equal(got, unset) {
			t.Errorf("the requests leave out %v, want %v", got, unset)
		}
		c.leads.stop()
		commands := commandsOf(t, c.leads)
		var atLeader []*commandv1.Command
		for i, d := range c.deeds {
			cmd := d.of(commands)
			if cmd == nil {
				t.Fatalf("%s of %s: no command", d.command, d.what)
			}
			marks(proposed, cmd.ProtoReflect())
			even(cmd.ProtoReflect(), d.what)
			if i < len(wholes) {
				atLeader = append(atLeader, cmd)
			} else if want := atLeader[i%len(wholes)]; !proto.Equal(cmd, want) {
				t.Errorf("%s of %s: %v, but %v at the leader", d.command, d.what, cmd, want)
			}
		}
		if got := unmarked(proposed); !slices.Equal(got, unproposed) {
			t.Errorf("the commands leave out %v, want %v", got, unproposed)
		}
	})
}

// of returns the last command that the caller of a deed proposed.
func (d deed) of(commands map[uint64]*commandv1.Command) (found *commandv1.Command) {
	for index := d.after + 1; index <= d.last; index++ {
		if cmd := commands[index]; cmd.GetActor().GetKind() == d.by.kind && cmd.GetActor().GetToken() == d.by.id {
			found = cmd
		}
	}
	return found
}

// TestFieldsOfAllMethods compares the methods of TestFieldsOfCommands with those whose callers the state machine knows.
func TestFieldsOfAllMethods(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for _, m := range wholes {
		tested[m.method] = true
	}
	for _, m := range proposings {
		if !tested[m.method] {
			t.Errorf("no request of %s has every field", m.method)
		}
	}
}
