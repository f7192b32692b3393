//go:build databases

package processtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// recipe is the SQL of docs/document-numbers.md.
type recipe struct{ table, document, void, row string }

func readRecipe(t *testing.T) recipe {
	t.Helper()
	page, err := os.ReadFile("../../../docs/document-numbers.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^ *```sql\n(.*?)^ *```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Fatalf("the page has %d blocks of SQL, want 4", len(blocks))
	}
	return recipe{table: blocks[0][1], document: blocks[1][1], void: blocks[2][1], row: blocks[3][1]}
}

// billing is an application that numbers invoices by the recipe. Each of its connections crashes on its own.
type billing struct {
	t        *testing.T
	recipe   recipe
	database string // folder of its socket
	cluster  *member
	invoices *client.Sequence
}

const uniqueViolation, lockTimeout = "23505", "55P03"

func newBilling(t *testing.T) *billing {
	t.Helper()
	b := &billing{t: t, recipe: readRecipe(t), database: startPostgres(t)}
	b.open(startCluster(t, 1)[0])
	connect(t, b.database).run(b.recipe.table)
	mustSucceed(t, b.cluster, "seq", "create", "invoices", "--mode", "gapless", "--reset", "yearly", "--reuse", "--format", "INV-{date:yyyy}-{seq:05}")
	return b
}

func (b *billing) open(cluster *member) {
	b.t.Helper()
	c, err := client.New([]string{cluster.api}, client.WithTimeout(callTimeout))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	b.cluster, b.invoices = cluster, c.Sequence("invoices")
}

func (b *billing) reserve(key string) client.Reservation {
	b.t.Helper()
	all, err := b.invoices.Reserve(b.t.Context(), key)
	if err != nil {
		b.t.Fatal(err)
	}
	return all[0]
}

// values returns SQL with the values of a reservation.
func values(r client.Reservation, sql string) string {
	return fmt.Sprintf("\\set sequence invoices\n\\set period %s\n\\set number %d\n\\set reservation %d\n\\set key %s\n%s", r.Period, r.Number, r.Reservation, r.Key, sql)
}

// before returns the SQL of a transaction up to a statement, without it.
func before(sql, statement string) string {
	head, _, _ := strings.Cut(sql, statement)
	return head
}

// from returns the SQL of a transaction from a statement on.
func from(sql, statement string) string { return sql[strings.Index(sql, statement):] }

// judge answers what became of a number by the rules of the page.
func (b *billing) judge(r client.Reservation) (client.Fate, error) {
	c := connect(b.t, b.database)
	defer c.crash()
	switch _, state := c.try(values(r, b.recipe.void)); state {
	case "":
		return client.FateVoid, nil
	case lockTimeout:
		return client.FateOpen, nil
	case uniqueViolation:
	default:
		return 0, fmt.Errorf("error %s", state)
	}
	switch owner := c.run(values(r, b.recipe.row)); owner {
	case r.Key:
		return client.FateConfirmed, nil
	case "":
		return client.FateVoid, nil
	default:
		return 0, fmt.Errorf("number %d belongs to %s", r.Number, owner)
	}
}

// reconcile makes a pass of the reconcile loop.
func (b *billing) reconcile() client.Reconciled {
	b.t.Helper()
	done, err := b.invoices.Reconcile(b.t.Context(), 0, func(_ context.Context, r client.Reservation) (client.Resolution, error) {
		fate, err := b.judge(r)
		return client.Resolution{Fate: fate, Reason: "no invoice", NeverCommitted: true}, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return done
}

func (b *billing) audit() *snowraftv1.AuditPeriodResponse {
	b.t.Helper()
	return answer[snowraftv1.AuditPeriodResponse](b.t, at(b.cluster), "seq", "audit", "invoices")
}

// agree compares the account of the cluster with the rows of the database: each confirmed number has exactly one invoice, and
// each void one has none.
func (b *billing) agree() {
	b.t.Helper()
	fates := make(map[int64]snowraftv1.NumberFate)
	account := b.audit()
	for n := account.GetSummary().GetFirst(); n <= account.GetSummary().GetLast(); n++ {
		fates[n] = snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED
	}
	for _, run := range account.GetNumbers() {
		for i := range int64(run.GetCount()) {
			fates[run.GetNumber()+i] = run.GetFate()
		}
	}
	invoices := make(map[string]bool)
	c := connect(b.t, b.database)
	defer c.crash()
	for n := range strings.FieldsSeq(c.run("SELECT number FROM invoices WHERE order_id IS NOT NULL;")) {
		invoices[n] = true
	}
	for n, fate := range fates {
		used := invoices[fmt.Sprint(n)]
		if fate == snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED && !used || fate == snowraftv1.NumberFate_NUMBER_FATE_VOID && used {
			b.t.Errorf("number %d is %v, and the database has its invoice: %v", n, fate, used)
		}
		delete(invoices, fmt.Sprint(n))
	}
	for n := range invoices {
		b.t.Errorf("the database has an invoice with number %s, which the cluster does not know", n)
	}
}

func (b *billing) wantReconciled(want client.Reconciled) {
	b.t.Helper()
	if got := b.reconcile(); got != want {
		b.t.Errorf("Reconcile() = %+v, want %+v", got, want)
	}
	b.agree()
}

// TestDocumentNumbers crashes the application of docs/document-numbers.md in each gap between its steps, and lets transactions
// forget to end.
func TestDocumentNumbers(t *testing.T) {
	b := newBilling(t)

	// Without a crash.
	first := b.reserve("order-1")
	connect(t, b.database).run(values(first, b.recipe.document))
	for range 2 {
		if err := b.invoices.Confirm(t.Context(), first.Claim); err != nil {
			t.Fatal(err)
		}
	}
	if again := b.reserve("order-1"); again.Fate != client.FateConfirmed || again.Number != first.Number {
		t.Errorf("a confirmed key gets %+v", again)
	}
	b.wantReconciled(client.Reconciled{})

	// After the reservation: the order is repeated.
	crashed := b.reserve("order-2")
	repeated := b.reserve("order-2")
	if repeated.Number != crashed.Number || repeated.Attempt != 2 {
		t.Errorf("%+v after %+v", repeated, crashed)
	}
	if err := b.invoices.VoidNeverCommitted(t.Context(), "late", crashed.Claim); err == nil {
		t.Error("an earlier attempt voids the number")
	}
	connect(t, b.database).run(values(repeated, b.recipe.document))
	b.wantReconciled(client.Reconciled{Confirmed: 1}) // after the commit, before the confirmation

	// Within the transaction: the server rolls it back, and no client repeats the order.
	r := b.reserve("order-3")
	c := connect(t, b.database)
	c.run(values(r, before(b.recipe.document, "COMMIT")))
	c.crash()
	until(t, "the server has rolled the transaction back", func() bool { return b.reconcile().Void == 1 })
	b.agree()

	// During the commit: either outcome is possible.
	r = b.reserve("order-4")
	c = connect(t, b.database)
	c.run(values(r, before(b.recipe.document, "COMMIT")))
	c.send("COMMIT;")
	c.crash()
	until(t, "the server has ended the transaction", func() bool { return b.reconcile().Left == 0 })
	b.agree()
}

// TestForgottenTransaction pauses transactions until their numbers are void.
func TestForgottenTransaction(t *testing.T) {
	b := newBilling(t)

	// Before it inserts the invoice.
	r := b.reserve("order-1")
	c := connect(t, b.database)
	c.run(values(r, before(b.recipe.document, "INSERT")))
	b.wantReconciled(client.Reconciled{Void: 1})
	if _, state := c.try(values(r, from(b.recipe.document, "INSERT"))); state != uniqueViolation {
		t.Errorf("a forgotten transaction ends with state %q, want a violation of the constraint", state)
	}
	b.agree()

	// The next reservation gets the number, and replaces its void row. The forgotten transaction still fails entirely.
	next := b.reserve("order-2")
	if next.Number != r.Number || next.Reservation <= r.Reservation {
		t.Fatalf("%+v after the void %+v", next, r)
	}
	if _, state := c.try(values(r, b.recipe.document)); state != uniqueViolation {
		t.Errorf("a forgotten transaction replaces its own void row: state %q", state)
	}
	c.run("ROLLBACK;")
	connect(t, b.database).run(values(next, b.recipe.document))
	if _, state := c.try(values(r, b.recipe.document)); state != uniqueViolation {
		t.Errorf("a forgotten transaction replaces the next invoice: state %q", state)
	}
	b.wantReconciled(client.Reconciled{Confirmed: 1})

	// After it has inserted the invoice: the number stays open until the transaction ends.
	r = b.reserve("order-3")
	c = connect(t, b.database)
	c.run(values(r, before(b.recipe.document, "COMMIT")))
	b.wantReconciled(client.Reconciled{Left: 1})
	connect(t, b.database).run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction';")
	until(t, "the server has ended the transaction", func() bool { return b.reconcile().Void == 1 })
	if _, state := c.try("COMMIT;"); state == "" {
		t.Error("a transaction that was ended can be committed")
	}
	b.agree()

	// A user of a void number that forgets it leaves it to the next one.
	r = b.reserve("order-4")
	c = connect(t, b.database)
	c.run(values(r, before(b.recipe.document, "DELETE")))
	b.wantReconciled(client.Reconciled{Void: 1})
	if _, state := c.try(values(r, from(b.recipe.document, "DELETE"))); state != uniqueViolation {
		t.Errorf("a forgotten user of a void number ends with state %q", state)
	}
	b.agree()
}

// TestRestoredDocumentNumbers restores a cluster from a backup while a transaction of the old one is paused, and resolves all
// numbers that the backup does not know.
func TestRestoredDocumentNumbers(t *testing.T) {
	b := newBilling(t)
	settled := b.reserve("order-1")
	connect(t, b.database).run(values(settled, b.recipe.document))
	b.wantReconciled(client.Reconciled{Confirmed: 1})
	file := filepath.Join(t.TempDir(), "backup")
	mustSucceed(t, b.cluster, "backup", file)

	committed, paused, open := b.reserve("order-2"), b.reserve("order-3"), b.reserve("order-4")
	connect(t, b.database).run(values(committed, b.recipe.document))
	if err := b.invoices.Confirm(t.Context(), committed.Claim); err != nil {
		t.Fatal(err)
	}
	forgotten := connect(t, b.database)
	forgotten.run(values(paused, before(b.recipe.document, "INSERT")))
	b.cluster.kill()

	m := newMember(t, "restored")
	mustSucceed(t, m, "restore", file, "--data-dir", m.dir, "--old-ended", time.Now().UTC().Format(time.RFC3339Nano), "--old-cluster-is-gone", "--clock-checked")
	m.start()
	until(t, "the restored member has a leader", func() bool { return m.status().GetLeaderId() != "" })
	b.open(m)
	mustSucceed(t, m, "seq", "resume", "invoices", "--after", fmt.Sprint(open.Number), "--holders-stopped")

	// Claims from before the restore settle nothing.
	for _, r := range []client.Reservation{committed, paused, open} {
		if err := b.invoices.VoidNeverCommitted(t.Context(), "late", r.Claim); err == nil {
			t.Errorf("a claim from before the restore voids number %d", r.Number)
		}
	}
	unknown := 0
	for _, run := range b.audit().GetNumbers() {
		for i := range int64(run.GetCount()) {
			if run.GetFate() != snowraftv1.NumberFate_NUMBER_FATE_UNKNOWN {
				continue
			}
			unknown++
			number := run.GetNumber() + i
			key := map[int64]string{committed.Number: committed.Key, paused.Number: paused.Key, open.Number: open.Key}[number]
			r := client.Reservation{Claim: client.Claim{Key: key, Reservation: 1<<63 - 1}, Number: number, Period: settled.Period}
			fate, err := b.judge(r)
			switch {
			case err != nil || fate == client.FateOpen:
				t.Fatal(r, fate, err)
			case fate == client.FateConfirmed:
				mustSucceed(t, m, "seq", "resolve", "invoices", fmt.Sprint(number), "used")
			default:
				mustSucceed(t, m, "seq", "resolve", "invoices", fmt.Sprint(number), "void", "--reason", "lost")
			}
		}
	}
	if unknown != 3 {
		t.Errorf("%d unknown numbers, want 3", unknown)
	}
	b.agree()
	if _, state := forgotten.try(values(paused, from(b.recipe.document, "INSERT"))); state != uniqueViolation {
		t.Errorf("a transaction from before the restore ends with state %q, want a violation of the constraint", state)
	}
	if next := b.reserve("order-5"); next.Number <= open.Number {
		t.Errorf("number %d is reserved after a restore, at most %d was drawn before", next.Number, open.Number)
	}
	b.agree()
}
