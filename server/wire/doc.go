// Package wire converts errors and answers of the domain to gRPC messages and back. Members and gateways use it for their own
// answers and for the answers of other members. [Status] converts errors to gRPC, and [FromMember] converts them back.
package wire
