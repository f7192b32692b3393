// Package network gives each cluster member a host of its own on one
// machine, and breaks the network between them.
//
// A host is a network namespace with a loopback, the device eth0 and an address.
// All hosts hang on one bridge, and so does the namespace of this process, in
// which the clients are (the host [Harness]). A [Net] lives in namespaces that
// nobody else uses and that have no names: when this process ends, in whatever
// way, the kernel removes all of it.
//
// Every fault is a [Fault], which is healed by itself or with all others. Faults
// add up: each keeps what it has made apart from the others', so that healing one
// leaves exactly what the others do, in whatever order they began.
//
// It runs on Linux, as root, and needs the programs ip, tc, ss, iptables-save and
// iptables-restore. [Check] says what is missing.
package network
