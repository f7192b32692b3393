package rpc

import "errors"

// Errors of connections that the client returns and the command line explains.
var (
	// ErrExpectsTLS reports that the caller speaks plain TCP and the port expects TLS.
	ErrExpectsTLS = errors.New("the port expects TLS")
	// ErrNoTLS reports that the caller speaks TLS and the port does not.
	ErrNoTLS = errors.New("the port does not speak TLS")
)
