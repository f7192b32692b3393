package trust

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/snowraft/snowraft/internal/position"
)

const (
	receiptVersion = 1
	receiptPrint   = 4 // bytes of the secret's fingerprint
	receiptMAC     = 16
	receiptSize    = 1 + receiptPrint + position.Size + receiptMAC
)

// The errors of receipts.
var (
	// ErrReceipt reports bytes that no member with these secrets has made.
	ErrReceipt = errors.New("invalid receipt")
	// ErrReceiptSecret reports a receipt under a secret that this process does not know, such as a removed one.
	ErrReceiptSecret = errors.New("receipt under an unknown secret")
)

// receiptKey authenticates the receipts under one secret. Its zero value is that of open clusters.
type receiptKey struct {
	print [receiptPrint]byte
	key   [sha256.Size]byte
}

func (s Secret) receiptKey() (k receiptKey) {
	copy(k.print[:], s.derive(labelFingerprint, receiptPrint))
	copy(k.key[:], s.derive(labelReceipt, len(k.key)))
	return k
}

// mac returns the last part of a receipt whose first part is body.
func (k *receiptKey) mac(body []byte) []byte {
	h := hmac.New(sha256.New, k.key[:])
	_, _ = h.Write(body) // never fails
	return h.Sum(nil)[:receiptMAC]
}

// openReceipt holds the key for a cluster without a secret. Any process has it, so it detects only damage.
var openReceipt = []receiptKey{{}}

// Receipts makes and checks receipts. A receipt shows a client how far the cluster's history
// was committed. Only a holder of the cluster's secret can make one. Any process can make one of an open cluster.
type Receipts struct {
	Keys *Keys // nil: an open cluster
}

// Make returns the receipt of a position under the signing secret.
func (r Receipts) Make(p position.Position) []byte {
	key := openReceipt[0]
	if r.Keys != nil {
		set := r.Keys.set.Load()
		key = set.receipts[set.signing]
	}
	b := make([]byte, 0, receiptSize)
	b = append(b, receiptVersion)
	b = append(b, key.print[:]...)
	b = p.Append(b)
	return append(b, key.mac(b)...)
}

// Check returns the position of a receipt under any of the secrets. Its errors are [ErrReceipt] and
// [ErrReceiptSecret].
func (r Receipts) Check(b []byte) (position.Position, error) {
	p, err := ReceiptPosition(b)
	if err != nil {
		return position.Position{}, err
	}
	keys := openReceipt
	if r.Keys != nil {
		keys = r.Keys.set.Load().receipts
	}
	body, mac := b[:receiptSize-receiptMAC], b[receiptSize-receiptMAC:]
	known := false
	for _, key := range keys {
		if !bytes.Equal(b[1:1+receiptPrint], key.print[:]) {
			continue
		}
		if known = true; hmac.Equal(mac, key.mac(body)) {
			return p, nil
		}
	}
	if !known {
		return position.Position{}, ErrReceiptSecret
	}
	return position.Position{}, fmt.Errorf("%w: not made with the secret that it names", ErrReceipt)
}

// ReceiptPosition returns the position of a receipt without a check of its maker.
func ReceiptPosition(b []byte) (position.Position, error) {
	switch {
	case len(b) != receiptSize:
		return position.Position{}, fmt.Errorf("%w: %d bytes, expected %d", ErrReceipt, len(b), receiptSize)
	case b[0] != receiptVersion:
		return position.Position{}, fmt.Errorf("%w: version %d", ErrReceipt, b[0])
	}
	p, err := position.Parse(b[1+receiptPrint : receiptSize-receiptMAC])
	if err != nil {
		return position.Position{}, fmt.Errorf("%w: %w", ErrReceipt, err)
	}
	return p, nil
}
