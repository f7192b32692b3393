package main

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestAnswers checks the text, the JSON and the requests of every client command.
func TestAnswers(t *testing.T) {
	t.Parallel()
	f, terminals := clitest.NewAPI(t), clitest.NewAPI(t)
	responses := documentedResponses(t)
	var text, documents strings.Builder
	for _, c := range []struct {
		line string
		asks proto.Message
	}{
		{"id -n 2 --encoding base62 --after IRfc5DPebH --layout orders", &snowraftv1.GenerateIdsRequest{Layout: "orders", Count: 2, After: 249709290070213647}},
		{"id -n 2", &snowraftv1.GenerateIdsRequest{Layout: "default", Count: 2}},
		{"id -n 2 --uuid", &snowraftv1.GenerateUuidsRequest{Layout: "default", Count: 2}},
		{"decode 0199fc8d-7c4a-7ffc-a41b-ac2bb3a1d3f4 --layout orders --server", &snowraftv1.GetLayoutRequest{Name: "orders"}},
		{"decode 100663296056729 --layout orders --server", &snowraftv1.GetLayoutRequest{Name: "orders"}},
		{"whois 56729", &snowraftv1.WhoIsRequest{Id: 56729, Layout: "default"}},
		{"layout create orders --fields time:39,datacenter:2,worker:10,sequence:12 --unit 10ms --epoch 2025-01-01T00:00:00Z --datacenter 3", &snowraftv1.CreateLayoutRequest{Layout: withoutEnd(clitest.Layout)}},
		{"layout get orders", &snowraftv1.GetLayoutRequest{Name: "orders"}},
		{"layout list", &snowraftv1.ListLayoutsRequest{PageSize: 1000}},
		{"worker list", &snowraftv1.ListWorkersRequest{Layout: "default", PageSize: 1000, PageToken: "more"}},
		{"top -n 1", &snowraftv1.ListTemplatesRequest{PageSize: 1000}},
		{"status", &snowraftv1.GetStatusRequest{}},
		{"events", &snowraftv1.ListEventsRequest{PageSize: 50}},
		{"events --kind denial --member b -n 7", &snowraftv1.ListEventsRequest{
			PageSize: 7, Member: "b", Kinds: []string{"denial"},
		}},
		{"member list", &snowraftv1.ListMembersRequest{}},
		{"member add 10.0.0.2:7703", &snowraftv1.AddMemberRequest{GossipAddress: "10.0.0.2:7703"}},
		{"member remove b --force", &snowraftv1.RemoveMemberRequest{Member: "b", Force: true}},
		{"leader get", &snowraftv1.GetStatusRequest{}},
		{"leader transfer b", &snowraftv1.TransferLeadershipRequest{Member: "b"}},
		{"member leave", &snowraftv1.LeaveRequest{}},
		{"config get", &snowraftv1.GetConfigRequest{}},
		{"config set --max-window 30m --rollback swap", &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{
			MaxWindowMs: proto.Int64(1800000), Rollback: snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP.Enum(),
		}}},
		{"config set --wait-threshold 2s --max-clock-offset 1s --if-generation 7", &snowraftv1.UpdateConfigRequest{
			Config: &snowraftv1.Config{WaitThresholdMs: proto.Int64(2000), MaxClockOffsetMs: proto.Int64(1000)}, ExpectedGeneration: proto.Uint64(7),
		}},
		{"config set --redis-create strict", &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{RedisCreate: snowraftv1.AutoCreate_AUTO_CREATE_STRICT.Enum()}}},
		{"token create billing --scope seq:next:orders/* --scope seq:read:orders/* --rate 1000 --burst 5000 --expires 2026-11-23T00:00:00Z", &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{
			Name: "billing", Scopes: []string{"seq:next:orders/*", "seq:read:orders/*"}, Rate: 1000, Burst: 5000, ExpiresAtMs: 1795392000000,
		}}},
		{"token list", &snowraftv1.ListTokensRequest{PageSize: 1000}},
		{"token get billing", &snowraftv1.GetTokenRequest{Token: "billing"}},
		{"token update 18 --expires never --rate 0", &snowraftv1.UpdateTokenRequest{
			Token: "18", Changes: &snowraftv1.Token{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"expires_at_ms", "rate"}},
		}},
		{"token delete billing --if-generation 40", &snowraftv1.DeleteTokenRequest{Token: "billing", ExpectedGeneration: proto.Uint64(40)}},
		{"clock reset", &snowraftv1.ResetObservedClockRequest{}},
		{"seq create orders", &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders"}}},
		{"seq create invoices --start -5 --increment 2 --min -9 --max 9000000000000000000 --mode strict --block-duration 1m --min-block 1 --max-block 2 --reset daily --time-zone Asia/Tokyo --format {seq:base62} --description text --force --force-format",
			&snowraftv1.CreateSequenceRequest{Force: true, ForceFormat: true, Sequence: &snowraftv1.Sequence{
				Name: "invoices", Start: proto.Int64(-5), Increment: proto.Int64(2), Min: proto.Int64(-9), Max: proto.Int64(9e18),
				Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, BlockDurationMs: 60000, MinBlock: 1, MaxBlock: 2,
				Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, TimeZone: "Asia/Tokyo", Format: "{seq:base62}", Description: "text",
			}}},
		{"seq create countdown", &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "countdown"}}},
		{"seq get countdown", &snowraftv1.GetSequenceRequest{Name: "countdown"}},
		{"seq get invoices", &snowraftv1.GetSequenceRequest{Name: "invoices"}},
		{"seq get orders", &snowraftv1.GetSequenceRequest{Name: "orders"}},
		{"seq get receipts", &snowraftv1.GetSequenceRequest{Name: "receipts"}},
		{"seq list", &snowraftv1.ListSequencesRequest{PageSize: 1000, PageToken: "invoices"}},
		{"seq list --prefix in", &snowraftv1.ListSequencesRequest{PageSize: 1000, Prefix: "in"}},
		{"seq list --prefix x", &snowraftv1.ListSequencesRequest{PageSize: 1000, Prefix: "x"}},
		{"seq list --sort remaining", &snowraftv1.ListSequenceViewsRequest{PageSize: 1000, OrderBy: "remaining", PageToken: "invoices"}},
		{"seq list --sort open", &snowraftv1.ListSequenceViewsRequest{PageSize: 1000, OrderBy: "open", PageToken: "invoices"}},
		{"seq list --contains VOICE --sort name", &snowraftv1.ListSequenceViewsRequest{PageSize: 1000, OrderBy: "name", NameContains: "VOICE", PageToken: "invoices"}},
		{"seq update orders --mode relaxed --max default --format= --force-format", &snowraftv1.UpdateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "orders", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}, ForceFormat: true,
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"mode", "max", "format"}},
		}},
		{"seq update countdown --block-duration 1s --min 0 --if-generation 17 --force", &snowraftv1.UpdateSequenceRequest{
			Force:              true,
			ExpectedGeneration: proto.Uint64(17),
			Sequence:           &snowraftv1.Sequence{Name: "countdown", BlockDurationMs: 1000, Min: proto.Int64(0)},
			UpdateMask:         &fieldmaskpb.FieldMask{Paths: []string{"min", "block_duration_ms"}},
		}},
		{"seq set orders 5000", &snowraftv1.SetNextRequest{Sequence: "orders", Next: 5000}},
		{"seq set orders --force -- -9223372036854775808", &snowraftv1.SetNextRequest{Sequence: "orders", Next: -9223372036854775808, Force: true}},
		{"seq set orders 5000 --if-generation 18446744073709551615", &snowraftv1.SetNextRequest{Sequence: "orders", Next: 5000, ExpectedGeneration: proto.Uint64(1<<64 - 1)}},
		{"seq resume orders --after -5 --holders-stopped", &snowraftv1.ResumeSequenceRequest{Sequence: "orders", After: proto.Int64(-5)}},
		{"seq resume countdown --margin 7", &snowraftv1.ResumeSequenceRequest{Sequence: "countdown", Margin: 7}},
		{"seq resume receipts --after 12 --holders-stopped", &snowraftv1.ResumeSequenceRequest{Sequence: "receipts", After: proto.Int64(12)}},
		{"seq resume orders --formats-kept", &snowraftv1.ResumeSequenceRequest{Sequence: "orders", FormatsKept: true}},
		{"seq resume orders --after 9 --margin 7 --format-was A{seq} --format-was {seq} --force-format", &snowraftv1.ResumeSequenceRequest{
			Sequence: "orders", After: proto.Int64(9), Margin: 7, Formats: []string{"A{seq}", "{seq}"}, ForceFormat: true,
		}},
		{"seq resume receipts --period 2025 --after 9", &snowraftv1.ResumeSequenceRequest{Sequence: "receipts", Period: "2025", After: proto.Int64(9)}},
		{"config set --upgrades manual", &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{Upgrades: snowraftv1.Upgrades_UPGRADES_MANUAL.Enum()}}},
		{"upgrade", &snowraftv1.GetUpgradeRequest{}},
		{"upgrade finalize", &snowraftv1.FinalizeUpgradeRequest{}},
		{"upgrade finalize --without b --without n-3", &snowraftv1.FinalizeUpgradeRequest{Without: []string{"b", "n-3"}}},
		{"cluster seal", &snowraftv1.SealClusterRequest{}},
		{"restore acknowledge", &snowraftv1.AcknowledgeRestoreRequest{}},
		{"cluster supersede 0c66af2f-ae7e-4522-b252-9891327eb656", &snowraftv1.SupersedeRequest{ClusterId: "0c66af2f-ae7e-4522-b252-9891327eb656"}},
		{"seq delete orders", &snowraftv1.DeleteSequenceRequest{Name: "orders"}},
		{"seq delete orders --if-generation 17", &snowraftv1.DeleteSequenceRequest{Name: "orders", ExpectedGeneration: proto.Uint64(17)}},
		{"seq next orders -n 3", &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 3}},
		{"seq next countdown -n 3", &snowraftv1.NextNumbersRequest{Sequence: "countdown", Count: 3}},
		{"seq next invoices --request-id r", &snowraftv1.NextNumbersRequest{Sequence: "invoices", Count: 1, RequestId: "r"}},
		{"seq last orders", &snowraftv1.GetLastRequest{Sequence: "orders"}},
		{"seq decode vouchers V-2026-7K2M9QXA", &snowraftv1.DecodeTextRequest{Sequence: "vouchers", Text: "V-2026-7K2M9QXA"}},
		{"seq create receipts --mode gapless --reuse", &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{
			Name: "receipts", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_GAPLESS, Reuse: true,
		}}},
		{"seq reserve receipts order-1001 order-1002", &snowraftv1.ReserveNumbersRequest{Sequence: "receipts", Keys: []string{"order-1001", "order-1002"}}},
		{"seq reserve receipts order-1003 --period 2026-10", &snowraftv1.ReserveNumbersRequest{Sequence: "receipts", Keys: []string{"order-1003"}, Period: "2026-10"}},
		{"seq confirm receipts order-1001 --reservation 5649 --attempt 2", &snowraftv1.ConfirmNumbersRequest{Sequence: "receipts", Claims: claims}},
		{"seq void receipts order-1001 --reservation 5649 --attempt 2 --reason canceled", &snowraftv1.VoidNumbersRequest{Sequence: "receipts", Claims: claims, Reason: "canceled"}},
		{"seq void receipts order-1001 --reservation 5649 --attempt 2 --reason canceled --never-committed", &snowraftv1.VoidNumbersRequest{
			Sequence: "receipts", Claims: claims, Reason: "canceled", NeverCommitted: true,
		}},
		{"seq open receipts --min-age 1h", &snowraftv1.ListReservationsRequest{Sequence: "receipts", PageSize: 1000, MinAgeMs: 3600000}},
		{"seq take receipts 4711", &snowraftv1.TakeNumbersRequest{Sequence: "receipts", Number: 4711, Count: 1}},
		{"seq take receipts 1 -n 9 --period 2025 --reason old", &snowraftv1.TakeNumbersRequest{Sequence: "receipts", Number: 1, Count: 9, Period: "2025-01-01", Reason: "old"}},
		{"seq resolve receipts 4711 used", &snowraftv1.ResolveNumbersRequest{
			Sequence: "receipts", Number: 4711, Count: 1, Fate: snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED,
		}},
		{"seq resolve receipts 4711 void -n 2 --period 2026-01-01 --reason lost", &snowraftv1.ResolveNumbersRequest{
			Sequence: "receipts", Number: 4711, Count: 2, Period: "2026-01-01", Fate: snowraftv1.NumberFate_NUMBER_FATE_VOID, Reason: "lost",
		}},
		{"seq audit receipts --period 2026", &snowraftv1.AuditPeriodRequest{Sequence: "receipts", PageSize: 1000, Period: "2026-01-01"}},
		{"template create invoices/* --reset yearly --format INV-{name:2}-{date:yyyy}-{seq:05} --quota 1000 --force-format", &snowraftv1.CreateTemplateRequest{
			ForceFormat: true, Template: &snowraftv1.Template{Pattern: "invoices/*", Quota: 1000, Settings: &snowraftv1.Sequence{
				Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, Format: "INV-{name:2}-{date:yyyy}-{seq:05}",
			}},
		}},
		{"template get invoices/*", &snowraftv1.GetTemplateRequest{Pattern: "invoices/*"}},
		{"template list --prefix inv", &snowraftv1.ListTemplatesRequest{PageSize: 1000, Prefix: "inv"}},
		{"template update invoices/* --max 5 --quota 0 --if-generation 12", &snowraftv1.UpdateTemplateRequest{
			Template:   &snowraftv1.Template{Pattern: "invoices/*", Settings: &snowraftv1.Sequence{Max: proto.Int64(5)}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"settings.max", "quota"}}, ExpectedGeneration: proto.Uint64(12),
		}},
		{"template delete invoices/*", &snowraftv1.DeleteTemplateRequest{Pattern: "invoices/*"}},
		{"template apply invoices/* --force-format", &snowraftv1.ApplyTemplateRequest{
			Pattern: "invoices/*", PageSize: 1000, PageToken: "invoices/best", ForceFormat: true, ExpectedGeneration: proto.Uint64(12),
		}},
		{"template apply invoices/* --force-format --dry-run", &snowraftv1.ApplyTemplateRequest{
			Pattern: "invoices/*", PageSize: 1000, PageToken: "invoices/best", ForceFormat: true, DryRun: true, ExpectedGeneration: proto.Uint64(12),
		}},
		{"template resume invoices/* --start 5000", &snowraftv1.ResumeTemplateRequest{Pattern: "invoices/*", Start: 5000}},
		{"seq last countdown", &snowraftv1.GetLastRequest{Sequence: "countdown"}},
		{"backfill list orders", &snowraftv1.ListBackfillsRequest{Layout: "orders", PageSize: 1000}},
	} {
		args := append([]string{"--addr", f.Address}, strings.Fields(c.line)...)
		f.Restart()
		text.WriteString("$ snowraft " + c.line + "\n" + strings.ReplaceAll(succeeds(t, args...), f.Address, "ADDR") + "\n")
		w := newTestApp()
		w.Columns = 80
		if code := run(t.Context(), w.Host, append([]string{"--addr", terminals.Address}, args[2:]...)); code != cli.ExitDone {
			t.Errorf("%s on a terminal: exit code %d", c.line, code)
		}
		checkColumns(t, c.line, w.Out.String(), w.Columns)
		asked := f.Requests()
		if last := asked[len(asked)-1].(proto.Message); !proto.Equal(last, c.asks) {
			t.Errorf("%s requests %v, want %v", c.line, last, c.asks)
		}
		out := succeeds(t, append([]string{"-o", "json"}, args...)...)
		if response := documented(responses, c.line); response != nil {
			// The JSON is equal after it was read as the message and written again.
			m := response.New().Interface()
			err := apijson.Unmarshal([]byte(out), m)
			if again, _ := apijson.Marshal(m); err != nil || string(again)+"\n" != out {
				t.Errorf("%s: not a line of %s: %s%v", c.line, response.Descriptor().Name(), out, err)
			}
		} else if !json.Valid([]byte(out)) {
			t.Errorf("%s: not JSON: %s", c.line, out)
		}
		documents.WriteString("$ snowraft " + c.line + " -o json\n" + strings.ReplaceAll(out, f.Address, "ADDR"))
	}
	clitest.Golden(t, "text", text.String())
	clitest.Golden(t, "json", documents.String())
}

var claims = []*snowraftv1.Claim{{Key: "order-1001", Reservation: 5649, Attempt: 2}}

// withoutEnd returns a layout as a client requests it, without the time of its end.
func withoutEnd(l *snowraftv1.Layout) *snowraftv1.Layout {
	l = proto.CloneOf(l)
	l.ExhaustsAtMs = 0
	return l
}
