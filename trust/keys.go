package trust

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Keys is the set of cluster secrets that this process knows. One of them is the signing secret: this process
// proves itself with it first, and encrypts gossip with it. Keys is safe for concurrent use.
type Keys struct {
	path  string // empty without a file
	conns tracker

	mu      sync.Mutex // held by writers
	set     atomic.Pointer[keySet]
	changed chan struct{} // guarded by mu
}

// keySet is one state of Keys. It is immutable.
type keySet struct {
	secrets     []Secret
	authorities []*Authority // one for each secret, in the order of the file
	receipts    []receiptKey // one for each secret, in the order of the file
	signing     int          // index of the signing secret
}

// NewKeys returns the keys of 1 to 4 secrets. The first secret signs.
func NewKeys(secrets ...Secret) (*Keys, error) {
	if err := checkCount(len(secrets)); err != nil {
		return nil, err
	}
	k := &Keys{changed: make(chan struct{})}
	k.set.Store(newKeySet(secrets, nil))
	return k, nil
}

// OpenKeys returns the keys of a secret file, which Reload reads again. The first secret signs.
func OpenKeys(path string) (*Keys, error) {
	secrets, err := ReadSecrets(path)
	if err != nil {
		return nil, err
	}
	k, err := NewKeys(secrets...)
	if err != nil {
		return nil, err
	}
	k.path = path
	return k, nil
}

// newKeySet returns the set of secrets. It keeps the authorities of old, with their leaves, and keeps the
// signing secret if secrets contains it.
func newKeySet(secrets []Secret, old *keySet) *keySet {
	set := &keySet{secrets: secrets}
	for i, s := range secrets {
		var a *Authority
		if old != nil {
			if at := slices.IndexFunc(old.secrets, s.Equal); at >= 0 {
				a = old.authorities[at]
				if at == old.signing {
					set.signing = i
				}
			}
		}
		if a == nil {
			a = s.Authority()
		}
		set.authorities = append(set.authorities, a)
		set.receipts = append(set.receipts, s.receiptKey())
	}
	return set
}

// Reload reads the file again and reports whether the secrets changed. The signing secret remains so while the
// file has it; otherwise the first secret signs. Reload closes connections of removed secrets. An error leaves
// the keys unchanged.
func (k *Keys) Reload() (changed bool, err error) {
	if k.path == "" {
		return false, nil
	}
	secrets, err := ReadSecrets(k.path)
	if err != nil {
		return false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.set.Load()
	if slices.EqualFunc(old.secrets, secrets, Secret.Equal) {
		return false, nil
	}
	k.store(newKeySet(secrets, old))
	k.conns.closeExcept(k.Fingerprints())
	return true, nil
}

// store makes set the present state. Requires k.mu.
func (k *Keys) store(set *keySet) {
	k.set.Store(set)
	close(k.changed)
	k.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of the secrets or of the signing secret.
func (k *Keys) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

// All returns the secrets in the order of the file.
func (k *Keys) All() []Secret { return slices.Clone(k.set.Load().secrets) }

// Authorities returns the certificate authorities of the secrets in the order of the file.
func (k *Keys) Authorities() []*Authority { return slices.Clone(k.set.Load().authorities) }

// Fingerprints returns the fingerprints of the secrets in the order of the file.
func (k *Keys) Fingerprints() []string {
	var prints []string
	for _, a := range k.set.Load().authorities {
		prints = append(prints, a.fingerprint)
	}
	return prints
}

// Signing returns the signing secret.
func (k *Keys) Signing() Secret {
	set := k.set.Load()
	return set.secrets[set.signing]
}

// Sign makes the secret with a fingerprint the signing secret, and reports whether the keys contain that
// secret.
func (k *Keys) Sign(fingerprint string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.set.Load()
	at := old.index(fingerprint)
	if at < 0 {
		return false
	}
	if at != old.signing {
		set := *old
		set.signing = at
		k.store(&set)
	}
	return true
}

// String returns the fingerprints.
func (k *Keys) String() string { return fmt.Sprint(k.Fingerprints()) }

func (s *keySet) index(fingerprint string) int {
	return slices.IndexFunc(s.authorities, func(a *Authority) bool { return a.fingerprint == fingerprint })
}

// preferred returns the authorities, that of the signing secret first.
func (s *keySet) preferred() []*Authority {
	all := []*Authority{s.authorities[s.signing]}
	for i, a := range s.authorities {
		if i != s.signing {
			all = append(all, a)
		}
	}
	return all
}
