// Package web serves the HTTP interface of members and gateways: the public services as JSON under /v1, numbers as plain text
// for shells, the paths of other ID servers for their clients, and the documentation of all paths.
//
// Every answer has the form of its path, errors included: a google.rpc.Status in JSON, one line of text, or the form of the
// other server. Only the fields of requests reach the services. No header of a client becomes gRPC metadata. [New] returns
// the handler.
package web
