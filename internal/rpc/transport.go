package rpc

import (
	"errors"
	"strings"
)

// Errors of connections that the client returns and the command line explains.
var (
	// ErrExpectsTLS reports that the caller speaks plain TCP and the port expects TLS.
	ErrExpectsTLS = errors.New("the port expects TLS")
	// ErrNoTLS reports that the caller speaks TLS and the port does not.
	ErrNoTLS = errors.New("the port does not speak TLS")
	// ErrNotAPI reports that a process accepts connections at the address, but does not speak gRPC.
	ErrNotAPI = errors.New("connected, but no API answers at this address")
)

// wrappers are the prefixes that gRPC puts before the error of the network.
var wrappers = []string{
	"last connection error: ", "connection error: ", "desc = ", "transport: ", "Error while dialing: ",
	"authentication handshake failed: ",
}

// Network returns the error of the network within a gRPC message about a connection; other messages as they are.
func Network(message string) string {
	message, _, _ = strings.Cut(message, "; last resolver error: ")
	for shorter := true; shorter; {
		shorter = false
		for _, w := range wrappers {
			if rest, ok := strings.CutPrefix(message, w); ok {
				message, shorter = rest, true
			}
		}
		if len(message) > 1 && message[0] == '"' && message[len(message)-1] == '"' {
			message, shorter = message[1:len(message)-1], true
		}
	}
	return message
}
