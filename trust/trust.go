// Package trust authenticates and authorizes callers. It derives from one cluster secret everything by which
// members trust each other, writes and reads the API tokens of applications, and checks rights.
//
// Members never check the validity dates of each other's certificates, nor those of administrators'
// certificates. Clients with a pin do not check the dates either. Clocks may be wrong, and a wrong clock must
// cost no more with TLS than without.
package trust
