package trust

import (
	"context"
	"errors"
	"testing"
)

// An admission holds while the caller has the right, whatever happens to other tokens, and ends with the right.
func TestAdmissionFollowsTheToken(t *testing.T) {
	t.Parallel()
	token, record := newToken(17, "seq:next:orders/*", "seq:next:bills")
	_, other := newToken(18, RightReadCluster)
	table := newTable(record, other)
	a := NewAuthorizer(table)
	p, err := a.Authenticate(t.Context(), token.Text())
	if err != nil {
		t.Fatal(err)
	}
	admit := func(resource string) Admission {
		admission, err := p.Admit(RightNextNumbers, resource)
		if err != nil {
			t.Fatal(err)
		}
		return admission
	}
	orders, bills := admit("orders/1"), admit("bills")
	check := func(when string, ofOrders, ofBills bool) {
		if err := orders.Still(); (err == nil) != ofOrders {
			t.Errorf("%s: orders: %v", when, err)
		}
		if err := bills.Still(); (err == nil) != ofBills {
			t.Errorf("%s: bills: %v", when, err)
		}
	}
	check("at first", true, true)
	table.change(func() { delete(table.records, 18) })
	check("another token is deleted", true, true)
	narrowed := *record
	narrowed.Scopes = []Scope{"seq:next:bills"}
	table.put(&narrowed)
	check("the token is narrowed", false, true)
	table.change(func() { delete(table.records, 17) })
	check("the token is deleted", false, false)
	if orders.Principal() != p || orders.Right() != RightNextNumbers {
		t.Errorf("the admission is of %s for %s", orders.Principal().Actor(), orders.Right())
	}
}

func TestAdmissionCoversItsRightOnly(t *testing.T) {
	t.Parallel()
	admission, err := Admin().Admit(RightNextNumbers, "orders")
	if err != nil || admission.Still() != nil {
		t.Fatal(err, admission.Still())
	}
	for _, c := range []struct {
		right, resource string
		want            bool
	}{
		{RightNextNumbers, "orders", true}, {RightNextNumbers, "bills", false}, {RightNextNumbers, "", false}, {RightReadSequence, "orders", false},
	} {
		if got := admission.Covers(c.right, c.resource); got != c.want {
			t.Errorf("Covers(%s, %q) = %t", c.right, c.resource, got)
		}
	}
	var none Admission
	if none.Covers("", "") || none.Principal() != nil {
		t.Error("the zero admission covers something")
	}
	if _, err := (*Principal)(nil).Admit(RightNextNumbers, "orders"); !unauthenticated(err) {
		t.Errorf("a call without a caller is admitted: %v", err)
	}
	if _, err := Admin().Admit(RightMember, ""); !isDenied(err) {
		t.Errorf("an administrator is admitted to a call of members: %v", err)
	}
}

func isDenied(err error) bool {
	_, ok := errors.AsType[*Denied](err)
	return ok
}

func TestContextOfAdmission(t *testing.T) {
	t.Parallel()
	admission, err := Admin().Admit(RightNextNumbers, "orders")
	if err != nil {
		t.Fatal(err)
	}
	ctx := WithAdmission(WithAddress(WithPrincipal(t.Context(), Open()), "10.0.0.1:1"), admission)
	got := AdmissionOf(context.WithoutCancel(ctx))
	if got != admission || PrincipalOf(ctx) != Admin() || AddressOf(ctx) != "10.0.0.1:1" {
		t.Errorf("the context has %v, %s, %s", got, PrincipalOf(ctx).Actor(), AddressOf(ctx))
	}
	if none := AdmissionOf(t.Context()); none != (Admission{}) {
		t.Errorf("another context has %v", none)
	}
	if p := PrincipalOf(WithAdmission(WithPrincipal(t.Context(), Admin()), Admission{})); p != Admin() {
		t.Errorf("the zero admission hides the principal: %v", p)
	}
}
