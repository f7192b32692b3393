package server_test

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

func templatesAt(conn *grpc.ClientConn) snowraftv1.TemplateServiceClient {
	return snowraftv1.NewTemplateServiceClient(conn)
}

// invoices is a template whose texts have the year and the name.
func invoiceTemplate() *snowraftv1.CreateTemplateRequest {
	return &snowraftv1.CreateTemplateRequest{Template: &snowraftv1.Template{Pattern: "invoices/*", Settings: &snowraftv1.Sequence{
		Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_YEARLY, Format: "INV-{name:2}-{date:yyyy}-{seq:05}",
	}}}
}

// A name that matches a template begins by its first use through every protocol, at every member and at a gateway.
func TestFirstUsesThroughEveryProtocol(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.RedisAddr, c.HTTPAddr = "127.0.0.1:0", "127.0.0.1:0" })
		for _, n := range nodes {
			n.untilNewest()
		}
		g := inFront(t, nodes)
		first := except(nodes, leader(t, nodes))[0]
		if _, err := templatesAt(first.conn).CreateTemplate(t.Context(), invoiceTemplate()); err != nil {
			t.Fatal(err)
		}
		relaxed := &snowraftv1.CreateTemplateRequest{Template: &snowraftv1.Template{Pattern: "tickets/*", Settings: &snowraftv1.Sequence{
			Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
		}}}
		if _, err := templatesAt(first.conn).CreateTemplate(t.Context(), relaxed); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			name := "invoices/" + n.cfg.Name
			if _, err := n.sequences.GetLast(t.Context(), &snowraftv1.GetLastRequest{Sequence: name}); reason(err) != rpc.UnknownSequence {
				t.Errorf("a read of %s: %v", name, err)
			}
			resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
			if want := "INV-" + n.cfg.Name + "-2026-00001"; err != nil || len(resp.GetTexts()) != 1 || resp.GetTexts()[0] != want {
				t.Errorf("NextNumbers at %s = %v, %v, want %s", n.cfg.Name, resp, err, want)
			}
			if got := redisLine(t, n.server.RedisAddr(), "INCR invoices/redis-"+n.cfg.Name); got != ":1" {
				t.Errorf("INCR at %s: %s", n.cfg.Name, got)
			}
			if got := redisLine(t, n.server.RedisAddr(), "GET tickets/unread"); got != "$-1" {
				t.Errorf("GET at %s: %s", n.cfg.Name, got)
			}
			request := &snowraftv1.NextNumbersRequest{Sequence: "tickets/id-" + n.cfg.Name, Count: 2, RequestId: "a"}
			if resp, err := n.sequences.NextNumbers(t.Context(), request); err != nil || resp.GetFirst() != 1 {
				t.Errorf("NextNumbers with an ID at %s = %v, %v", n.cfg.Name, resp, err)
			}
			block := &snowraftv1.AllocateBlockRequest{Sequence: "tickets/block-" + n.cfg.Name, Count: 10}
			if resp, err := n.sequences.AllocateBlock(t.Context(), block); err != nil || resp.GetBlock().GetFirst() != 1 {
				t.Errorf("AllocateBlock at %s = %v, %v", n.cfg.Name, resp, err)
			}
			stream, err := n.sequences.StreamNumbers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint64(2) {
				asked := &snowraftv1.StreamNumbersRequest{Id: i + 1, Request: &snowraftv1.NextNumbersRequest{Sequence: "tickets/stream-" + n.cfg.Name, Count: 1}}
				if err := stream.Send(asked); err != nil {
					t.Fatal(err)
				}
				if resp, err := stream.Recv(); err != nil || resp.GetResponse().GetFirst() != int64(i)+1 {
					t.Errorf("the stream at %s: %v, %v", n.cfg.Name, resp, err)
				}
			}
		}
		if got := g.redis("INCR tickets/gateway"); got != ":1" {
			t.Errorf("INCR at the gateway: %s", got)
		}
		if resp, err := g.next("invoices/gateway", 1); err != nil || resp.GetFirst() != 1 {
			t.Errorf("NextNumbers at the gateway = %v, %v", resp, err)
		}
		if status, body := g.ask("POST", "/v1/sequences:next", `{"sequence": "invoices/web", "count": 1}`); status != 200 {
			t.Errorf("HTTP at the gateway: %d, %s", status, body)
		}
		list, err := first.sequences.ListSequences(t.Context(), &snowraftv1.ListSequencesRequest{Prefix: "invoices/gateway"})
		if err != nil || len(list.GetSequences()) != 1 || list.GetSequences()[0].GetTemplate() != "invoices/*" {
			t.Errorf("ListSequences() = %v, %v", list, err)
		}
	})
}

// Concurrent first uses at all members create one sequence, and no number comes twice.
func TestConcurrentFirstUses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, n := range nodes {
			n.untilNewest()
		}
		if _, err := templatesAt(nodes[0].conn).CreateTemplate(t.Context(), invoiceTemplate()); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[string]bool{}
		for _, n := range nodes {
			for range 8 {
				wg.Go(func() {
					resp, err := n.sequences.NextNumbers(t.Context(), &snowraftv1.NextNumbersRequest{Sequence: "invoices/acme", Count: 1})
					mu.Lock()
					defer mu.Unlock()
					if err != nil || seen[resp.GetTexts()[0]] {
						t.Errorf("NextNumbers() = %v, %v", resp, err)
						return
					}
					seen[resp.GetTexts()[0]] = true
				})
			}
		}
		wg.Wait()
		resp, err := nodes[0].sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "invoices/acme"})
		if err != nil || resp.GetSequence().GetLast() != int64(len(nodes)*8) {
			t.Errorf("GetSequence() = %v, %v", resp, err)
		}
	})
}

// The rules of templates as a client sees them.
func TestTemplateService(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.untilNewest()
		service, ctx := templatesAt(n.conn), t.Context()
		next := func(name string) (*snowraftv1.NextNumbersResponse, error) {
			return n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
		}
		for format, want := range map[string]string{
			"INV{name:2}{date:yyyy}{seq}":    rpc.InvalidArgument, // names and numbers run together
			"INV-{name:3}-{seq}":             rpc.InvalidArgument,
			"INV-{name:1}-{date:yyyy}-{seq}": rpc.InvalidArgument, // all names have the first part
			"INV-{name:2}-{seq}":             rpc.InvalidArgument, // years repeat
		} {
			req := invoiceTemplate()
			req.Template.Settings.Format = format
			if _, err := service.CreateTemplate(ctx, req); reason(err) != want {
				t.Errorf("%s: %v", format, err)
			}
		}
		created, err := service.CreateTemplate(ctx, invoiceTemplate())
		if err != nil || created.GetExisted() {
			t.Fatalf("CreateTemplate() = %v, %v", created, err)
		}
		if again, err := service.CreateTemplate(ctx, invoiceTemplate()); err != nil || !again.GetExisted() {
			t.Errorf("again: %v, %v", again, err)
		}
		for i := range 3 {
			if _, err := next(fmt.Sprint("invoices/", i)); err != nil {
				t.Error(err)
			}
		}
		// An edit reaches new names only, and apply the others.
		edit := &snowraftv1.UpdateTemplateRequest{Template: &snowraftv1.Template{Pattern: "invoices/*", Settings: &snowraftv1.Sequence{
			Format: "{name:2}/{date:yyyy}/{seq:06}",
		}}}
		if _, err := service.UpdateTemplate(ctx, edit); err != nil {
			t.Fatal(err)
		}
		text := func(name, want string) {
			t.Helper()
			if resp, err := next(name); err != nil || resp.GetTexts()[0] != want {
				t.Errorf("%s: %v, %v, want %s", name, resp, err, want)
			}
		}
		text("invoices/1", "INV-1-2026-00002")
		text("invoices/new", "new/2026/000001")
		page := ""
		changed := 0
		for i := 0; i == 0 || page != ""; i++ {
			for _, dry := range []bool{true, false} {
				resp, err := service.ApplyTemplate(ctx, &snowraftv1.ApplyTemplateRequest{Pattern: "invoices/*", PageSize: 2, PageToken: page, DryRun: dry})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range resp.GetSequences() {
					if s.GetReason() != "" || len(s.GetFields()) != 1 || s.GetFields()[0] != "format" {
						t.Errorf("applied: %v", s)
					}
				}
				if !dry {
					page, changed = resp.GetNextPageToken(), changed+len(resp.GetSequences())
				}
			}
		}
		if changed != 3 {
			t.Errorf("%d sequences changed, want 3", changed)
		}
		text("invoices/1", "1/2026/000101") // after the dropped block
		// Another reset is refused for each sequence that issued numbers, as by UpdateSequence.
		daily := &snowraftv1.UpdateTemplateRequest{Template: &snowraftv1.Template{Pattern: "invoices/*", Settings: &snowraftv1.Sequence{
			Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, Format: "{name:2}/{date:yyyyMMdd}/{seq:06}",
		}}}
		if _, err := service.UpdateTemplate(ctx, daily); err != nil {
			t.Fatal(err)
		}
		for _, dry := range []bool{true, false} {
			resp, err := service.ApplyTemplate(ctx, &snowraftv1.ApplyTemplateRequest{Pattern: "invoices/*", DryRun: dry})
			if err != nil || len(resp.GetSequences()) != 4 {
				t.Fatalf("ApplyTemplate() = %v, %v", resp, err)
			}
			for _, s := range resp.GetSequences() {
				if s.GetReason() != rpc.WouldRepeat || s.GetError() == "" {
					t.Errorf("dry run %v: %v", dry, s)
				}
			}
		}
		// A deleted name does not begin again.
		if _, err := n.sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: "invoices/1"}); err != nil {
			t.Fatal(err)
		}
		if _, err := next("invoices/1"); reason(err) != rpc.UnknownSequence {
			t.Errorf("a deleted name: %v", err)
		}
		got, err := service.GetTemplate(ctx, &snowraftv1.GetTemplateRequest{Pattern: "invoices/*"})
		if err != nil || got.GetTemplate().GetSequences() != 3 {
			t.Errorf("GetTemplate() = %v, %v", got, err)
		}
		list, err := service.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{})
		if err != nil || len(list.GetTemplates()) != 1 {
			t.Errorf("ListTemplates() = %v, %v", list, err)
		}
		if _, err := service.DeleteTemplate(ctx, &snowraftv1.DeleteTemplateRequest{Pattern: "invoices/*"}); err != nil {
			t.Error(err)
		}
		if _, err := next("invoices/2"); err != nil {
			t.Errorf("a sequence without its template: %v", err)
		}
		if _, err := service.DeleteTemplate(ctx, &snowraftv1.DeleteTemplateRequest{Pattern: "invoices/*"}); reason(err) != rpc.UnknownTemplate {
			t.Errorf("a second deletion: %v", err)
		}
	})
}

// The changes of a page are in flight together, and each has its own outcome.
func TestApplyTemplateToManySequences(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		const sequences, apart = 200, 70
		nodes := startCluster(t, 3)
		for _, n := range nodes {
			n.untilNewest()
		}
		n := follower(t, nodes)
		service, ctx := templatesAt(n.conn), t.Context()
		template := &snowraftv1.Template{Pattern: "carts/*", Settings: &snowraftv1.Sequence{}}
		if _, err := service.CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{Template: template}); err != nil {
			t.Fatal(err)
		}
		name := func(i int) string { return fmt.Sprintf("carts/%03d", i) }
		var wg sync.WaitGroup
		for i := range sequences {
			wg.Go(func() {
				if _, err := n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: name(i), Count: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := 0; i < sequences; i += apart {
			if _, err := n.sequences.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: name(i), Next: 5000}); err != nil {
				t.Fatal(err)
			}
		}
		// Counting down would repeat numbers, except where none is left below the new maximum.
		template.Settings.Increment, template.Settings.Max = new(int64(-1)), new(int64(4000))
		if _, err := service.UpdateTemplate(ctx, &snowraftv1.UpdateTemplateRequest{Template: template}); err != nil {
			t.Fatal(err)
		}
		resp, err := service.ApplyTemplate(ctx, &snowraftv1.ApplyTemplateRequest{Pattern: template.GetPattern(), PageSize: 1000})
		if err != nil || len(resp.GetSequences()) != sequences {
			t.Fatalf("ApplyTemplate() = %v, %v", resp, err)
		}
		for i, s := range resp.GetSequences() {
			want := rpc.WouldRepeat
			if i%apart == 0 {
				want = ""
			}
			if s.GetName() != name(i) || s.GetReason() != want || (s.GetError() == "") != (want == "") {
				t.Errorf("outcome %d: %v, want %q", i, s, want)
			}
			got, err := n.sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name(i)})
			if err != nil || (got.GetSequence().GetIncrement() == -1) != (want == "") {
				t.Errorf("sequence %d: %v, %v", i, got, err)
			}
		}
	})
}
