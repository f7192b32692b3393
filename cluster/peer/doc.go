// Package peer holds what all parts of a node know about another node: its metadata, its addresses, and the errors of contacts
// with it.
package peer
