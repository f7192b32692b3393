// Package siege measures the cost of hostile traffic for clients: the rates of calls of all protocols, with and without
// strangers in turns. The main type is [Siege].
package siege
