// Package siegetest attacks the ports for clients of a secured member in a cgroup of 1 GiB, without a token, for a minute. Honest
// clients call it meanwhile. It also compares the memory that the member counts with its growth.
//
// The tests need root, the build tag root, and a hierarchy of cgroups with a controller of memory, of either version.
package siegetest
