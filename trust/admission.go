package trust

import "context"

// Admission says that a caller had a right on a resource when its call arrived. Each process judges a call once, at the
// protocol by which it came, and what serves the call demands the admission, not the rights. The zero Admission
// covers nothing.
type Admission struct {
	who             *Principal
	right, resource string
	at              *state // nil: rights that do not change
}

// Admit returns the admission of a call that needs a right, or the error of [Principal.Authorize].
func (p *Principal) Admit(right, resource string) (Admission, error) {
	at, err := p.authorize(right, resource)
	if err != nil {
		return Admission{}, err
	}
	return Admission{who: p, right: right, resource: resource, at: at}, nil
}

// Covers reports whether the call was admitted with a right on a resource.
func (a *Admission) Covers(right, resource string) bool {
	return a.who != nil && a.right == right && a.resource == resource
}

// Right returns the right; empty for the zero Admission.
func (a *Admission) Right() string { return a.right }

// Still returns an error if the caller has lost the right since it was admitted. Call it after a wait. If no token has
// changed, it takes nanoseconds.
func (a *Admission) Still() error {
	if a.at == nil {
		return nil
	}
	if now, err := a.who.source.present(); err == nil && now == a.at {
		return nil
	}
	return a.who.Authorize(a.right, a.resource)
}

// Principal returns the caller; nil for the zero Admission.
func (a *Admission) Principal() *Principal { return a.who }

type admissionKey struct{}

// Value returns what the context of an admitted call has for a key: the admission and its principal; nil for other keys.
func (a *Admission) Value(key any) any {
	switch key.(type) {
	case admissionKey:
		return a
	case principalKey:
		if a.who != nil {
			return a.who
		}
	}
	return nil
}

// admitted is the context of an admitted call.
type admitted struct {
	context.Context
	admission Admission
}

// Value implements context.Context.
func (c *admitted) Value(key any) any {
	if v := c.admission.Value(key); v != nil {
		return v
	}
	return c.Context.Value(key)
}

// WithAdmission returns the context of an admitted call on behalf of its principal.
func WithAdmission(ctx context.Context, a Admission) context.Context { return &admitted{ctx, a} }

// AdmissionOf returns the admission of a call; the zero Admission if nothing admitted it.
func AdmissionOf(ctx context.Context) Admission {
	if a, ok := ctx.Value(admissionKey{}).(*Admission); ok {
		return *a
	}
	return Admission{}
}
