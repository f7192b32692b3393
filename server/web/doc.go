// Package web is HTTP as a member speaks it: the public services as JSON under
// /v1, numbers as plain text for shells, the paths of other ID servers for
// those who come from them, and the documentation of it all.
//
// Every answer has the form of the path that was asked, refusals included: a
// google.rpc.Status in JSON, one line of text, or what the other server would
// have said. Nothing that a client sends reaches the services but the fields of
// their requests: no header becomes metadata of a call.
package web
