package trust

// Fault is the problem with the token of a call.
type Fault string

// The faults. Faults returns all of them.
const (
	FaultMissing   Fault = "missing"   // no token, and callers without a token may not make the call
	FaultMalformed Fault = "malformed" // the text is not that of a token
	FaultUnknown   Fault = "unknown"   // no such token, or a deleted one
	FaultExpired   Fault = "expired"   // the token has expired
	FaultDisabled  Fault = "disabled"  // a restore of the cluster disabled the token
	FaultScope     Fault = "scope"     // the token lacks a scope
	FaultRate      Fault = "rate"      // the request exceeds the rate of the token
)

// Faults returns all faults.
func Faults() []Fault {
	return []Fault{FaultMissing, FaultMalformed, FaultUnknown, FaultExpired, FaultDisabled, FaultScope, FaultRate}
}
