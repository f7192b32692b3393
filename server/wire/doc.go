// Package wire is the one place between errors and answers of the domain and their form in gRPC
// messages, in both directions. Members and gateways use it on their way out, and where the answer
// of another member comes in.
package wire
