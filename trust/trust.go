// Package trust decides who may do what. It derives everything that members trust each other by from one cluster
// secret, writes and reads the API tokens of applications, and judges rights.
//
// The validity of certificates is never judged between members, for the administrator's certificates and by clients
// with a pin: clocks may be wrong, and a wrong clock must cost no more with TLS than without.
package trust
