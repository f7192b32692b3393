// Package kernel holds what every call passes, whichever protocol it came by. The transports are adapters of it. Every request for IDs or
// numbers passes an [Issuer], which demands an admission, checks and counts the request, and then calls the [Source] of the process.
package kernel
