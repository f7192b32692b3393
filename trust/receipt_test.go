package trust

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/internal/position"
)

var somewhere = position.Position{
	Cluster: [16]byte{1}, Life: 2, Index: 300, Nonce: [16]byte{4}, HashIndex: 299, Hash: [16]byte{5}, WindowEnd: 6,
}

func receiptsOf(t *testing.T, secrets ...Secret) Receipts {
	t.Helper()
	k, err := NewKeys(secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return Receipts{Keys: k}
}

// TestReceiptOfEachSecret shows that receipts outlive a rotation until their secret leaves the file.
func TestReceiptOfEachSecret(t *testing.T) {
	t.Parallel()
	old, next := NewSecret(), NewSecret()
	before, during, after := receiptsOf(t, old), receiptsOf(t, old, next), receiptsOf(t, next)
	during.Keys.Sign(next.Fingerprint())
	for _, b := range [][]byte{before.Make(somewhere), after.Make(somewhere), during.Make(somewhere)} {
		if p, err := during.Check(b); err != nil || p != somewhere {
			t.Errorf("%+v, %v, want %+v", p, err, somewhere)
		}
	}
	if _, err := before.Check(during.Make(somewhere)); !errors.Is(err, ErrReceiptSecret) {
		t.Errorf("the signing secret does not sign: %v", err)
	}
	if _, err := after.Check(before.Make(somewhere)); !errors.Is(err, ErrReceiptSecret) {
		t.Errorf("a receipt under a removed secret: %v", err)
	}
}

// TestReceiptIsChecked changes each byte of a receipt.
func TestReceiptIsChecked(t *testing.T) {
	t.Parallel()
	secured := receiptsOf(t, NewSecret())
	for name, r := range map[string]Receipts{"secured": secured, "open": {}} {
		whole := r.Make(somewhere)
		if p, err := r.Check(whole); err != nil || p != somewhere {
			t.Fatalf("%s: %+v, %v, want %+v", name, p, err, somewhere)
		}
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 1
			if p, err := r.Check(b); err == nil {
				t.Errorf("%s: byte %d changed, accepted as %+v", name, i, p)
			}
			if _, err := r.Check(whole[:i]); !errors.Is(err, ErrReceipt) {
				t.Errorf("%s: %d bytes: %v", name, i, err)
			}
		}
	}
	if _, err := secured.Check(Receipts{}.Make(somewhere)); !errors.Is(err, ErrReceiptSecret) {
		t.Errorf("a receipt of an open cluster: %v", err)
	}
	forged := slices.Concat(secured.Make(somewhere)[:1+receiptPrint], Receipts{}.Make(somewhere)[1+receiptPrint:])
	if _, err := secured.Check(forged); !errors.Is(err, ErrReceipt) {
		t.Errorf("a receipt with the key of open clusters: %v", err)
	}
}

func FuzzReceipt(f *testing.F) {
	k, err := NewKeys(NewSecret(), NewSecret())
	if err != nil {
		f.Fatal(err)
	}
	secured, open := Receipts{Keys: k}, Receipts{}
	f.Add(open.Make(somewhere))
	f.Add(secured.Make(somewhere))
	f.Add([]byte{receiptVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, r := range []Receipts{secured, open} {
			if p, err := r.Check(b); err == nil && !bytes.Equal(r.Make(p), b) {
				t.Errorf("%x is a receipt of %+v, whose receipt is another", b, p)
			}
		}
	})
}
