package gossip

import (
	"crypto/cipher"
	"sync/atomic"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/trust"
)

// keyring holds the ciphers for the gossip keys of the present secrets.
type keyring struct {
	keys *trust.Keys
	now  atomic.Pointer[ring]
}

type ring struct {
	sign    cipher.AEAD
	all     []cipher.AEAD
	changed <-chan struct{} // closed when the keys have changed
}

// newKeyring returns the keyring of keys; nil if keys is nil.
func newKeyring(keys *trust.Keys) *keyring {
	if keys == nil {
		return nil
	}
	return &keyring{keys: keys}
}

// present returns the ciphers of the present secrets; none for an open member.
func (k *keyring) present() ring {
	if k == nil {
		return ring{}
	}
	if r := k.now.Load(); r != nil {
		select {
		case <-r.changed:
		default:
			return *r
		}
	}
	r := &ring{changed: k.keys.Changed()} // taken before the secrets, so that no change is missed
	for _, secret := range k.keys.All() {
		r.all = append(r.all, sealing(secret))
	}
	r.sign = sealing(k.keys.Signing())
	k.now.Store(r)
	return *r
}

func sealing(secret trust.Secret) cipher.AEAD {
	key, err := screen.NewKey(secret.GossipKey())
	if err != nil {
		panic(err) // a key has 32 bytes
	}
	return key
}
