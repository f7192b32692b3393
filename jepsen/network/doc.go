// Package network gives each cluster member a host of its own on one machine, and makes faults in the network between
// the hosts.
//
// A host is a network namespace with a loopback, the device eth0 and an address. One bridge connects all hosts and the
// namespace of this process, the host [Harness], which has the clients. The namespaces of a [Net] are private and have no
// names. When this process stops for any reason, the kernel removes them.
//
// Every fault is a [Fault], which is healed alone or with all others. Faults add up, and each owns its changes separately.
// Healing one fault therefore leaves exactly the effects of the others, in whatever order they began.
//
// The package runs on Linux, as root, and needs the programs ip, tc, ss, iptables-save and iptables-restore. [Check]
// reports missing requirements.
package network
